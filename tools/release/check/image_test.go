package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// images returns the images in the layout by architecture.
func images(t *testing.T) map[string]v1.Image {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(extract(t, named("headgate_%s_image.tar", *version)))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Fatal(err)
	}
	list, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Manifests) != 1 || list.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != *version {
		t.Fatalf("the layout has not one index with the version: %+v", list.Manifests)
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, m := range list.Manifests {
		if found[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestImage checks that the image for each architecture contains the program from the archive and only the files that
// it needs, and that it sets a numeric user and a health check.
func TestImage(t *testing.T) {
	found := images(t)
	if len(found) != 2 || found["amd64"] == nil || found["arm64"] == nil {
		t.Fatalf("architectures: %v", found)
	}
	for arch, image := range found {
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := file.Config
		if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/headgate"}) || len(c.Volumes) != 0 || file.Architecture != arch || file.OS != "linux" {
			t.Errorf("%s: %+v", arch, c)
		}
		if c.Healthcheck == nil || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/headgate", "health"}) {
			t.Errorf("%s: health check %+v", arch, c.Healthcheck)
		}
		unpacked := t.TempDir()
		extractTar(t, mutate.Extract(image), unpacked)
		var names []string
		_ = filepath.WalkDir(unpacked, func(path string, e os.DirEntry, _ error) error {
			if !e.IsDir() {
				names = append(names, strings.TrimPrefix(path, unpacked))
			}
			return nil
		})
		if !slices.Equal(names, []string{"/etc/ssl/certs/ca-certificates.crt", "/headgate", "/licenses/LICENSE", "/licenses/NOTICES"}) {
			t.Errorf("%s: files %q", arch, names)
		}
		top := extract(t, named("headgate_%s_linux_%s.tar.gz", *version, arch))
		want, err := os.ReadFile(filepath.Join(top, "headgate_"+*version+"_linux_"+arch, "headgate"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(unpacked, "headgate")); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: the image has another program than the archive: %v", arch, err)
		}
	}
}

// container is a script that runs a program on a read-only root, as the image's user, with separate network, process
// and mount namespaces. It calls the health check while the server runs and after it has stopped, and sends six
// requests to a limit of five.
const container = `
root=$1 health=$2; shift 2
ip link set lo up
mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
if touch "$root/written" 2>/dev/null; then echo the root can be written; exit 1; fi
in_image() { chroot --userspec=65532:65532 "$root" "$@"; }
chroot --userspec=65532:65532 "$root" "$@" & server=$!
for i in $(seq 100); do in_image $health 2>/dev/null && break; sleep 0.1; done
in_image $health && echo healthy
grep -E '^(Uid|CapEff)' /proc/$server/status
for i in 1 2 3 4 5 6; do
  curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/v1/allow -d '{"key":"joe","limit":"5/1m"}'
done
kill $server; wait $server; echo "ended $?"
in_image $health 2>/dev/null || echo "unhealthy $?"
`

// TestContainer unpacks the image's file system and runs the server in it with the image's configuration: entrypoint,
// arguments, user and health check.
func TestContainer(t *testing.T) {
	asRoot(t)
	need(t, "unshare", "chroot", "ip", "curl")
	if out, err := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		t.Skipf("*** no namespaces here (%s): THE IMAGE IS NOT STARTED ***", strings.TrimSpace(string(out)))
	}
	image := images(t)[runtime.GOARCH]
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	// The image's user must be able to read the unpacked file system, but only this user can read t.TempDir.
	unpacked, err := os.MkdirTemp("", "headgate-image-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(unpacked) })
	if err := os.Chmod(unpacked, 0o755); err != nil {
		t.Fatal(err)
	}
	extractTar(t, mutate.Extract(image), unpacked)
	args := []string{"--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc", "sh", "-c", container, "sh", unpacked, strings.Join(file.Config.Healthcheck.Test[1:], " ")}
	out := run(t, "unshare", append(append(args, file.Config.Entrypoint...), file.Config.Cmd...)...)
	for _, want := range []string{"healthy\n", "Uid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n", "200\n200\n200\n200\n200\n429\n", "ended 0\n", "unhealthy 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	t.Logf("\n%s", out)
}
