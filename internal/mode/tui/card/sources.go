package card

import (
	"encoding/json"

	"github.com/burin-dev/burin/llm"
)

// Sources gives the lines of what an answer cites, as those of a search of burin's own; nil
// if it cites nothing.
func Sources(m *llm.Message, v View) []string {
	cited := m.Sources()
	if len(cited) == 0 {
		return nil
	}
	type source struct {
		Title string `json:"title"`
		URL   string `json:"url"`
		Text  string `json:"snippet,omitempty"`
	}
	d := struct {
		Provider string   `json:"provider"`
		Sources  []source `json:"sources"`
	}{Provider: m.Provider}
	for _, c := range cited {
		d.Sources = append(d.Sources, source{c.Title, c.URL, c.Text})
	}
	details, err := json.Marshal(d)
	if err != nil {
		return nil // texts can be written as JSON
	}
	return Tool(Call{Name: "web_search", Label: "Sources", State: Done, Details: details}, v)
}
