package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/headgate/headgate/lab/programs"
)

var update = flag.Bool("update", false, "write deploy/kubernetes.yaml from the chart")

const chart = "../../deploy/chart"

// everything sets every value of the chart that selects a part of a template.
const everything = `
store: {url: "redis://redis:6379", passwordSecret: store}
replicas: 3
autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 5, targetCPUUtilizationPercentage: 50}
grpc: {enabled: true, rateLimitConfigMap: rules}
admin: {tokenSecret: admin}
usersSecret: users
tlsSecret: tls
extraArgs: [--log-denied=10/s, --audit-sample=100]
extraVolumes: [{name: redis-ca, secret: {secretName: redis-ca}}]
extraVolumeMounts: [{name: redis-ca, mountPath: /etc/headgate/redis-ca, readOnly: true}]
image: {repository: registry.example/headgate, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
imagePullSecrets: [{name: registry}]
service: {type: LoadBalancer, annotations: {example.com/internal: "true"}}
networkPolicy: {allowedPodLabels: {uses: headgate}}
podAnnotations: {example.com/scrape: "true"}
podLabels: {team: edge}
priorityClassName: high
nodeSelector: {kubernetes.io/arch: arm64}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}
`

// object returns an empty value of the Kubernetes API's type for a kind. It returns nil for an unknown kind.
func object(kind string) any {
	switch kind {
	case "ConfigMap":
		return &core.ConfigMap{}
	case "Deployment":
		return &apps.Deployment{}
	case "Job":
		return &batch.Job{}
	case "Service":
		return &core.Service{}
	case "PodDisruptionBudget":
		return &disruption.PodDisruptionBudget{}
	case "HorizontalPodAutoscaler":
		return &autoscaling.HorizontalPodAutoscaler{}
	case "NetworkPolicy":
		return &networking.NetworkPolicy{}
	}
	return nil
}

// decode returns a manifest's objects by kind, without those of hooks. It fails the test if an object contains an unknown
// field.
func decode(t *testing.T, manifest string) map[string]any {
	t.Helper()
	objects, _ := decodeAll(t, manifest)
	return objects
}

// decodeAll also returns the objects of hooks, which Helm creates before the others.
func decodeAll(t *testing.T, manifest string) (found, hooks map[string]any) {
	t.Helper()
	found, hooks = map[string]any{}, map[string]any{}
	for document := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Annotations map[string]string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if head.Kind == "" {
			continue // only comments
		}
		into, set := object(head.Kind), found
		if head.Metadata.Annotations["helm.sh/hook"] != "" {
			set = hooks
		}
		if into == nil || set[head.Kind] != nil {
			t.Fatalf("an unexpected %s", head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		set[head.Kind] = into
	}
	return found, hooks
}

// render returns the chart's objects, as helm template does for a release called headgate. It has the functions that the
// chart uses.
func render(values string) (string, error) {
	set := map[string]any{}
	for _, text := range []string{read(chart + "/values.yaml"), values} {
		var more map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &more); err != nil {
			return "", err
		}
		merge(set, more)
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent": func(n int, text string) string {
			indent := strings.Repeat(" ", n)
			return "\n" + indent + strings.ReplaceAll(text, "\n", "\n"+indent)
		},
		"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(value, v string) string {
			if v == "" {
				return value
			}
			return v
		},
		"int":  func(v any) int { return int(reflect.ValueOf(v).Float()) },
		"add":  func(a, b int) int { return a + b },
		"fail": func(text string) (string, error) { return "", errors.New(text) },
	})
	data := map[string]any{
		"Values":  set,
		"Release": map[string]any{"Name": "headgate", "Namespace": "default"},
		"Chart":   map[string]any{"AppVersion": "0.0.0"},
	}
	names, err := filepath.Glob(chart + "/templates/*.*")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if _, err := all.New(filepath.Base(name)).Parse(read(name)); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	for _, name := range names {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		var one bytes.Buffer
		if err := all.ExecuteTemplate(&one, filepath.Base(name), data); err != nil {
			return "", err
		}
		if text := strings.TrimSpace(one.String()); text != "" {
			b.WriteString("---\n" + text + "\n")
		}
	}
	return b.String(), all.ExecuteTemplate(&bytes.Buffer{}, "NOTES.txt", data)
}

// merge sets values as Helm does: objects are merged, other values are replaced.
func merge(into, from map[string]any) {
	for name, value := range from {
		old, ok := into[name].(map[string]any)
		if more, both := value.(map[string]any); ok && both {
			merge(old, more)
			continue
		}
		into[name] = value
	}
}

func read(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestChart decodes the chart's objects into the API's types, with the defaults, with everything and as a gateway.
func TestChart(t *testing.T) {
	for _, test := range []struct {
		name, values string
		kinds        []string
	}{
		{"defaults", "", []string{"ConfigMap", "Deployment", "Service"}},
		{"everything", everything, []string{"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service"}},
		{"gateway", `gateway: {upstream: "http://app:8080"}`, []string{"ConfigMap", "Deployment", "Service"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := render(test.values)
			if err != nil {
				t.Fatal(err)
			}
			objects := decode(t, text)
			var kinds []string
			for kind := range objects {
				kinds = append(kinds, kind)
			}
			if slices.Sort(kinds); !slices.Equal(kinds, test.kinds) {
				t.Errorf("objects %v, want %v", kinds, test.kinds)
			}
			fit(t, manifestsOf(objects))
			compareWithHelm(t, test.values, objects)
		})
	}
}

// compareWithHelm checks that Helm renders the same objects from the same values.
func compareWithHelm(t *testing.T, values string, objects map[string]any) {
	t.Helper()
	helm, err := exec.LookPath("helm")
	if err != nil {
		t.Log("*** helm is not installed (go install helm.sh/helm/v3/cmd/helm@v3.17.3): ITS OWN RENDERING IS NOT TESTED ***")
		return
	}
	dir := t.TempDir()
	write(t, dir, "values.yaml", values)
	// A helm from go install assumes Kubernetes 1.20, which the chart does not support.
	for _, args := range [][]string{{"lint", "--strict", chart}, {"template", "--kube-version", "1.31.0", "headgate", chart}} {
		c := exec.CommandContext(t.Context(), helm, append(args, "--values", filepath.Join(dir, "values.yaml"))...)
		var faults bytes.Buffer
		c.Stderr = &faults
		text, err := c.Output()
		if err != nil {
			t.Fatalf("helm %s: %v\n%s%s", args[0], err, text, &faults)
		}
		if args[0] == "template" && !reflect.DeepEqual(decode(t, string(text)), objects) {
			t.Errorf("helm renders other objects:\n%s", text)
		}
	}
}

// TestChartStarts checks that the server accepts the flags of the container, up to the missing files.
func TestChartStarts(t *testing.T) {
	headgate := programs.Headgate(t)
	for name, values := range map[string]string{"defaults": "", "everything": everything, "gateway": `gateway: {upstream: "http://app:8080"}`} {
		text, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		m := manifestsOf(decode(t, text))
		out, err := exec.CommandContext(t.Context(), headgate, m.deployment.Spec.Template.Spec.Containers[0].Args...).CombinedOutput()
		if err == nil {
			t.Fatalf("%s: started without its files", name)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "/etc/headgate/") || !strings.Contains(line, "no such file") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// TestChartChecksPolicies runs the Job that checks the policies before Helm replaces them, with valid policies and with
// policies that have an error (regression: bug 173).
func TestChartChecksPolicies(t *testing.T) {
	headgate := programs.Headgate(t)
	for policies, want := range map[string]string{"policies: {api: 100/s}": "api: 100/s", "policies: {api: 100/sec}": `did you mean "100/s"?`} {
		text, err := render("policies: '" + policies + "'")
		if err != nil {
			t.Fatal(err)
		}
		_, hooks := decodeAll(t, text)
		config, job := hooks["ConfigMap"].(*core.ConfigMap), hooks["Job"].(*batch.Job)
		pod := job.Spec.Template.Spec
		if job.Annotations["helm.sh/hook"] != "pre-install,pre-upgrade" || config.Annotations["helm.sh/hook-weight"] != "-1" ||
			pod.Volumes[0].ConfigMap.Name != config.Name || pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("the hook: %+v", job)
		}
		dir := t.TempDir()
		write(t, dir, "policies.yaml", config.Data["policies.yaml"])
		args := slices.Clone(pod.Containers[0].Args)
		for i := range args {
			args[i] = strings.Replace(args[i], pod.Containers[0].VolumeMounts[0].MountPath, dir, 1)
		}
		out, err := exec.CommandContext(t.Context(), headgate, args...).CombinedOutput()
		if valid := !strings.Contains(policies, "sec"); (err == nil) != valid || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", policies, err, out)
		}
	}
	text, err := render("checkPolicies: false")
	if err != nil {
		t.Fatal(err)
	}
	if _, hooks := decodeAll(t, text); len(hooks) > 0 {
		t.Errorf("without checkPolicies: %v", hooks)
	}
}

// TestChartRefuses checks that the chart rejects combinations of values that would not work.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 2":                  "store.url",
		"autoscaling: {enabled: true}": "store.url",
		"{grpc: {enabled: true}, gateway: {upstream: \"http://app\"}}": "gateway.upstream",
		"grpc: {rateLimitConfigMap: rules}":                            "grpc.enabled",
		"store: {passwordSecret: redis}":                               "store.url",
		"{usersSecret: users, gateway: {upstream: \"http://app\"}}":    "users_file",
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %s", values, err, want)
		}
	}
}

// TestChartExpectsItsReplicas checks that a pod that starts while Redis is unavailable knows the number of servers among
// which the limits are divided.
func TestChartExpectsItsReplicas(t *testing.T) {
	const store = "store: {url: \"redis://redis:6379\"}\n"
	for values, want := range map[string]string{
		store:                 "--expect-processes=2",
		store + "replicas: 3": "--expect-processes=4",
		store + "replicas: 3\nautoscaling: {enabled: true, maxReplicas: 7}": "--expect-processes=8",
	} {
		text, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		args := manifestsOf(decode(t, text)).deployment.Spec.Template.Spec.Containers[0].Args
		if !slices.Contains(args, want) {
			t.Errorf("%s: args %q, want %s", values, args, want)
		}
	}
}

// TestChartSchema checks that the schema has exactly the names in values.yaml, at every level.
func TestChartSchema(t *testing.T) {
	type schema struct {
		Properties           map[string]*schema
		AdditionalProperties *bool
	}
	var top schema
	if err := json.Unmarshal([]byte(read(chart+"/values.schema.json")), &top); err != nil {
		t.Fatal(err)
	}
	delete(top.Properties, "global") // Helm adds it
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(chart+"/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, s *schema, values map[string]any)
	compare = func(path string, s *schema, values map[string]any) {
		if s.AdditionalProperties == nil {
			return // a map with any names
		}
		if len(s.Properties) != len(values) {
			t.Errorf("%s: the schema has %d names, values.yaml has %d", path, len(s.Properties), len(values))
		}
		for name, value := range values {
			below := s.Properties[name]
			if below == nil {
				t.Errorf("the schema has no %s%s", path, name)
				continue
			}
			if inner, ok := value.(map[string]any); ok {
				compare(path+name+".", below, inner)
			}
		}
	}
	compare("", &top, values)
}

// TestKubernetesIsTheChart checks that deploy/kubernetes.yaml is the chart with these values.
func TestKubernetesIsTheChart(t *testing.T) {
	text, err := render(`
replicas: 2
store: {url: "redis://redis:6379", passwordSecret: headgate}
admin: {tokenSecret: headgate}
image: {repository: headgate, tag: latest}
checkPolicies: false
`)
	if err != nil {
		t.Fatal(err)
	}
	want := kubernetesHead + text
	if *update {
		write(t, "../../deploy", "kubernetes.yaml", want)
	}
	if read(kubernetes) != want {
		t.Errorf("deploy/kubernetes.yaml is not the chart's; go test ./deploy -run TestKubernetesIsTheChart -update writes it")
	}
}

const kubernetesHead = `# Headgate on Kubernetes without Helm: two servers on one Redis, which is not part of this file.
# A test writes this file from deploy/chart.
#
#   kubectl create secret generic headgate --from-file=redis-password --from-file=admin-token
#   kubectl apply -f deploy/kubernetes.yaml
#
# Build the image with deploy/Containerfile. The policies are in the ConfigMap. Apply a changed one: every server
# activates it when the kubelet has delivered the file, within about a minute.
`
