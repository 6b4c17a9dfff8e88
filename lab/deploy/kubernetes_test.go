// Package deploy tests the files in deploy/ with the real server.
package deploy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	disruption "k8s.io/api/policy/v1"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
)

// manifests holds the objects in deploy/kubernetes.yaml or in the chart.
type manifests struct {
	config     core.ConfigMap
	deployment apps.Deployment
	service    core.Service
	budget     *disruption.PodDisruptionBudget
}

const kubernetes = "../../deploy/kubernetes.yaml"

// manifestsOf returns the objects that every release contains. A release with a single replica has no disruption budget.
func manifestsOf(objects map[string]any) (m manifests) {
	m.config = *objects["ConfigMap"].(*core.ConfigMap)
	m.deployment = *objects["Deployment"].(*apps.Deployment)
	m.service = *objects["Service"].(*core.Service)
	if budget, ok := objects["PodDisruptionBudget"].(*disruption.PodDisruptionBudget); ok {
		m.budget = budget
	}
	return m
}

// TestKubernetesObjectsFit checks that all references between the objects resolve.
func TestKubernetesObjectsFit(t *testing.T) {
	m := manifestsOf(decode(t, read(kubernetes)))
	if m.budget == nil {
		t.Error("no budget")
	}
	fit(t, m)
}

func fit(t *testing.T, m manifests) {
	t.Helper()
	pod := m.deployment.Spec.Template
	selectors := map[string]map[string]string{
		"deployment": m.deployment.Spec.Selector.MatchLabels, "service": m.service.Spec.Selector,
		"spread": pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	}
	if m.budget != nil {
		selectors["budget"] = m.budget.Spec.Selector.MatchLabels
		if m.budget.Spec.MaxUnavailable.IntValue() != 1 {
			t.Errorf("%s pods at once may go", m.budget.Spec.MaxUnavailable)
		}
	}
	for name, selector := range selectors {
		for label, value := range selector {
			if pod.Labels[label] != value {
				t.Errorf("%s: selects %s=%s, the pods have %q", name, label, value, pod.Labels[label])
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s: selects everything", name)
		}
	}
	container := pod.Spec.Containers[0]
	ports := map[string]bool{}
	for _, p := range container.Ports {
		ports[p.Name] = true
	}
	for _, p := range m.service.Spec.Ports {
		if !ports[p.TargetPort.StrVal] {
			t.Errorf("the service's port %s has no port of the pod", p.Name)
		}
	}
	for _, probe := range []*core.Probe{container.ReadinessProbe, container.LivenessProbe} {
		var port string
		if probe.HTTPGet != nil {
			port = probe.HTTPGet.Port.StrVal
		} else {
			port = probe.TCPSocket.Port.StrVal
		}
		if !ports[port] {
			t.Errorf("a probe of port %s, which the pod does not have", port)
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		own := v.ConfigMap != nil && v.ConfigMap.Name == m.config.Name
		volumes[v.Name] = own || v.Name == "ratelimit" && v.ConfigMap != nil || v.Secret != nil
	}
	for _, mount := range container.VolumeMounts {
		if !volumes[mount.Name] || mount.SubPath != "" {
			t.Errorf("mount %+v", mount)
		}
	}
	var drain time.Duration
	for _, arg := range container.Args {
		if text, ok := strings.CutPrefix(arg, "--drain="); ok {
			drain, _ = time.ParseDuration(text)
		}
	}
	if grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second; drain == 0 || drain+10*time.Second >= grace {
		t.Errorf("a drain of %s and 10 s more do not fit a grace period of %s", drain, grace)
	}
}

// TestKubernetesServes starts the server as its container would, with a password-protected Redis. The test changes only
// addresses and paths. The probes must pass, an updated ConfigMap must take effect, and the server must drain.
func TestKubernetesServes(t *testing.T) {
	m := manifestsOf(decode(t, read(kubernetes)))
	store := redistest.Standalone(t, redistest.Redis)
	store.MustDo("config", "set", "requirepass", "a-secret")
	dir := t.TempDir()
	write(t, dir, "redis-password", "a-secret")
	write(t, dir, "admin-token", "an-operator-of-the-test\n")
	here := strings.NewReplacer(
		"/etc/headgate/policies", dir, "/etc/headgate/store", dir, "/etc/headgate/admin", dir, "redis://redis:6379", "redis://"+store.Addr(),
		"0.0.0.0:6380", "127.0.0.1:0", "0.0.0.0:8080", "127.0.0.1:0", "0.0.0.0:6070", "127.0.0.1:0", "$(POD_IP)", "127.0.0.1", "--drain=10s", "--drain=0s",
	)
	policies := here.Replace(m.config.Data["policies.yaml"])
	mount(t, dir, "policies.yaml", policies)
	container := m.deployment.Spec.Template.Spec.Containers[0]
	args := make([]string, len(container.Args))
	for i, arg := range container.Args {
		args[i] = here.Replace(arg)
	}
	addresses := programs.Serve(t, 3, args...)
	for _, probe := range []*core.Probe{container.ReadinessProbe, container.LivenessProbe} {
		if status, body := get(t, "http://"+addresses["http"]+probe.HTTPGet.Path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", probe.HTTPGet.Path, status, body)
		}
	}
	if status, body := get(t, "http://"+addresses["admin"]+"/metrics", "an-operator-of-the-test"); status != http.StatusOK || !strings.Contains(body, "headgate_") {
		t.Errorf("metrics: %d %s", status, body)
	}
	mount(t, dir, "policies.yaml", strings.Replace(policies, "rate: 100/s", "rate: 50/s", 1))
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, body := get(t, "http://"+addresses["http"]+"/readyz", "")
		if strings.Contains(body, `"generation":2`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the changed policies are not in force: %s", body)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// mount writes a file as the kubelet does: into a versioned directory that is reached through a symbolic link. An
// update replaces the link.
func mount(t *testing.T, dir, name, text string) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..version")
	if err != nil {
		t.Fatal(err)
	}
	write(t, version, name, text)
	err = errors.Join(os.Symlink(filepath.Base(version), filepath.Join(dir, "..data_tmp")),
		os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if linked := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); linked != nil && !errors.Is(linked, os.ErrExist) {
		err = errors.Join(err, linked)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}
