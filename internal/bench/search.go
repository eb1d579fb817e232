package bench

import (
	"slices"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// searchTool is burin's own web search.
const searchTool = "web_search"

// ownSearch puts the model's own web search in the place of burin's, in requests that would
// offer burin's. Nobody can be asked about searches that run at the provider, so who sets
// this allows them; a rule that refuses or asks keeps them from being offered.
func ownSearch(who string, rules *permission.Policy) func(*llm.Request) {
	if who != "model" {
		return nil
	}
	ours := permission.Request{Tool: searchTool, Effects: tool.Network, Access: []tool.Access{{Kind: tool.AccessNetwork, Target: "web search"}}}
	return func(r *llm.Request) {
		is := func(t llm.Tool) bool { return t.Name == searchTool }
		if !r.Model.WebSearch || !slices.ContainsFunc(r.Tools, is) {
			return
		}
		if d := rules.Decide(ours); d.Verdict != permission.Allow && d.Rule != nil {
			return
		}
		r.Tools = slices.DeleteFunc(r.Tools, is)
		r.ServerTools = []llm.ServerTool{{Kind: llm.ServerWebSearch}}
	}
}
