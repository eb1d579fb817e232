package document_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/document"
)

const notebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aa",
   "metadata": {},
   "source": [
    "# Title <b>\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "bb",
   "metadata": {"zeta": 1, "alpha": 2.50},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["42\n"]
    }
   ],
   "source": "print(42)\n"
  },
  {
   "cell_type": "raw",
   "id": "cc",
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

const notebookText = `# %% [markdown] cell:0
# Title <b>
text
# %% [code] cell:1
print(42)

# %% [raw] cell:2

`

func TestNotebookText(t *testing.T) {
	got, err := document.NotebookText([]byte(notebook))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notebookText, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	same, err := document.NotebookApply([]byte(notebook), got)
	if err != nil || string(same) != notebook {
		t.Errorf("text that changes nothing: %v\n%s", err, same)
	}
}

// cells are the cells of a notebook, each as one line.
func cells(t *testing.T, data []byte) []string {
	t.Helper()
	var nb struct {
		Cells []struct {
			Type     string          `json:"cell_type"`
			ID       string          `json:"id"`
			Source   json.RawMessage `json:"source"`
			Metadata json.RawMessage `json:"metadata"`
			Outputs  *[]any          `json:"outputs"`
			Count    json.RawMessage `json:"execution_count"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(data, &nb); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range nb.Cells {
		outputs := "-"
		if c.Outputs != nil {
			outputs = fmt.Sprint(len(*c.Outputs))
		}
		if len(c.ID) == 8 {
			c.ID = "new"
		}
		source := strings.Join(strings.Fields(string(c.Source)), "")
		lines = append(lines, strings.Join([]string{c.Type, c.ID, source, outputs, string(c.Count)}, " "))
	}
	return lines
}

func TestNotebookApply(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{
			"edit", strings.Replace(notebookText, "print(42)", "print(\"<é>\")", 1),
			[]string{`markdown aa ["#Title<b>\n","text"] - `, `code bb "print(\"<é>\")\n" 1 3`, `raw cc [] - `},
		},
		{
			"move, remove and add", "# %% [raw] cell:2\nx\n\n# %% [code]\na = 1\nb\n# %% [markdown] cell:0\n# Title <b>\ntext\n",
			[]string{`raw cc ["x\n"] - `, `code new ["a=1\n","b"] 0 null`, `markdown aa ["#Title<b>\n","text"] - `},
		},
		{
			"change of type", strings.NewReplacer("[code]", "[markdown]", "[raw]", "[code]").Replace(notebookText),
			[]string{`markdown aa ["#Title<b>\n","text"] - `, `markdown bb "print(42)\n" - `, `code cc [] 0 null`},
		},
		{"no cells", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := document.NotebookApply([]byte(notebook), tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cells(t, out)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, out)
			}
			if !strings.HasPrefix(string(out), "{\n \"cells\": [") || !strings.HasSuffix(string(out), "\"nbformat_minor\": 5\n}\n") {
				t.Errorf("the frame changed:\n%s", out)
			}
		})
	}
	out, err := document.NotebookApply([]byte(notebook), strings.Replace(notebookText, "text", "words", 1))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "\"zeta\": 1,\n    \"alpha\": 2.50\n") {
		t.Errorf("a cell that was not touched changed:\n%s", out)
	}
}

func TestNotebookRefuses(t *testing.T) {
	for _, tt := range []struct{ data, text, want string }{
		{"[]", "", "not a JSON object"},
		{"{", "", "notebook"},
		{`{"nbformat": 3, "worksheets": []}`, "", "format 3"},
		{`{"cells": {}}`, "", "notebook"},
		{`{"cells": null}`, "", "no list of cells"},
		{`{"cells": [{"cell_type": "video", "source": ""}]}`, "", `unknown type "video"`},
		{`{"cells": [{"cell_type": "code", "source": 5}]}`, "", "neither text nor a list"},
		{notebook, "import os\n# %% [code] cell:0\n", "must begin with a header"},
		{notebook, "# %% [code] cell:3\n", "has no cell 3"},
		{notebook, "# %% [code] cell:1\n# %% [code] cell:1\n", "twice"},
		{notebook, "# %% [code] cell:99999999999999999999\n", "has no cell"},
	} {
		if out, err := document.NotebookApply([]byte(tt.data), tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q with %q: %q, %v; want %q", tt.data, tt.text, out, err, tt.want)
		}
	}
}

// Any sources come back as they were, headers and backslashes in them included.
func TestNotebookRoundTrip(t *testing.T) {
	line := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"# %% [code] cell:0", `\# %% [code]`, `\\# %% [raw] cell:7`, "# %%", "", "# %% [markdown]\r",
	}))
	source := rapid.Map(rapid.SliceOfN(line, 0, 5), func(lines []string) string { return strings.Join(lines, "\n") })
	rapid.Check(t, func(t *rapid.T) {
		sources := rapid.SliceOfN(source, 0, 4).Draw(t, "sources")
		list := make([]map[string]any, len(sources))
		for i, s := range sources {
			list[i] = map[string]any{"cell_type": "code", "source": s, "metadata": map[string]any{"n": i}}
		}
		data, err := json.Marshal(map[string]any{"cells": list, "nbformat": 4, "nbformat_minor": 4})
		if err != nil {
			t.Fatal(err)
		}
		text, err := document.NotebookText(data)
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.NotebookApply(data, text)
		if err != nil || string(back) != string(data) {
			t.Fatalf("%q\nbecame\n%q, %v", data, back, err)
		}
	})
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(notebook), notebookText)
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":["a"],"source":"b"}]}`), "# %% [raw]\n\\# %% [raw]\n")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		out, err := document.NotebookApply(data, text)
		if err != nil {
			return
		}
		again, err := document.NotebookText(out)
		if err != nil {
			t.Fatalf("%q was made and cannot be read: %v", out, err)
		}
		if same, err := document.NotebookApply(out, again); err != nil || string(same) != string(out) {
			t.Fatalf("%q became %q, %v", out, same, err)
		}
	})
}

// A notebook of more cells than anybody reads is refused before they are built.
func TestNotebookOfCells(t *testing.T) {
	pacetest.Costly(t)
	of := func(n int) []byte {
		return []byte(`{"cells":[` + strings.Repeat(`{"cell_type":"code","source":["x"],"outputs":[]},`, n-1) +
			`{"cell_type":"code","source":["last"],"outputs":[]}],"nbformat":4}`)
	}
	text, err := document.NotebookText(of(20_000))
	if err != nil || !strings.HasSuffix(text, "cell:19999\nlast\n") {
		t.Errorf("a large notebook: %v", err)
	}
	bomb := of(400_000)
	allocs := testing.AllocsPerRun(1, func() { text, err = document.NotebookText(bomb) })
	if err == nil || !strings.Contains(err.Error(), "20000 cells") {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
	if allocs > 50*20_000 {
		t.Errorf("%.0f allocations", allocs)
	}
}
