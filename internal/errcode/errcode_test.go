package errcode_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/internal/errcode"
)

const reference = "../../docs/reference/"

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestThePageExplainsEveryCode checks that the errors page has a section with the cause and the remedy of each code,
// that its table has the code's statuses and RESP errors, and that it has no other section except two for errors in Go.
func TestThePageExplainsEveryCode(t *testing.T) {
	_, page, _ := strings.Cut(read(t, reference+"errors.md"), "\n## Errors of a request\n")
	page, _, _ = strings.Cut(page, "\n## ")
	for _, c := range errcode.Codes {
		_, section, ok := strings.Cut(page, "\n### "+c.Name+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if !ok || !strings.Contains(section, "**Why.**") || !strings.Contains(section, "**Do.**") {
			t.Errorf("code %s has the section %q", c.Name, section)
		}
		_, row, _ := strings.Cut(page, "\n| ["+c.Name+"](#"+c.Name+") |")
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			t.Errorf("code %s has the row %q", c.Name, row)
			continue
		}
		for _, status := range c.Statuses {
			if !strings.Contains(cells[1], strconv.Itoa(status)) {
				t.Errorf("code %s has HTTP %q, want %d", c.Name, cells[1], status)
			}
		}
		for _, reply := range c.Replies {
			if !strings.Contains(cells[2], reply) {
				t.Errorf("code %s has RESP %q, want %q", c.Name, cells[2], reply)
			}
		}
	}
	const ofGo = 2 // closed and ended
	if got, want := strings.Count(page, "\n### "), len(errcode.Codes)+ofGo; got != want {
		t.Errorf("the page has %d sections, want %d", got, want)
	}
}

// TestTheSchemasListTheCodes checks that the descriptions of both HTTP interfaces list every code except no_answer, in
// the order of the table.
func TestTheSchemasListTheCodes(t *testing.T) {
	for _, name := range []string{"openapi.yaml", "admin.yaml"} {
		_, list, _ := strings.Cut(read(t, reference+name), "code: {enum: [")
		list, _, _ = strings.Cut(list, "]")
		listed := strings.Split(list, ", ")
		var want []string
		for _, c := range errcode.Codes {
			if c.Name != errcode.NoAnswer {
				want = append(want, c.Name)
			}
		}
		if strings.Join(listed, " ") != strings.Join(want, " ") {
			t.Errorf("%s lists %q, want %q", name, listed, want)
		}
	}
}

func TestOfReply(t *testing.T) {
	for text, want := range map[string]string{
		`no policy "x"`: "not_found", `ERR no policy "x"`: "not_found", "WRONGVERB use acquire": "unprocessable",
		"UNAVAILABLE the store could not decide: busy": "unavailable", "ERR this user may not reset": "forbidden",
		"NOAUTH Authentication required.": "no_user", "ERR cost is -1": "invalid",
	} {
		if got := errcode.OfReply(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestNoStatusHasTwoCodes checks that each status has one code, so that the order of the table has no effect, and that
// a status outside the table has none.
func TestNoStatusHasTwoCodes(t *testing.T) {
	for _, c := range errcode.Codes {
		for _, status := range c.Statuses {
			if got := errcode.OfStatus(status); got != c.Name {
				t.Errorf("%d: %q and %q", status, got, c.Name)
			}
		}
	}
	if got := errcode.OfStatus(418); got != "" {
		t.Errorf("418: %q", got)
	}
}
