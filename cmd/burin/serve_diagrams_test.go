package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Diagrams of Mermaid are drawn in a frame of their own; hostile ones run nothing and reach nothing,
// wrong ones say what is wrong, and a burin without what draws them says how to get it.
func TestServeAppDiagrams(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	fence := func(text string) string { return "```mermaid\n" + text + "\n```\n\n" }
	diagrams := []string{
		"flowchart TD\n  A[Write a test] --> B{Does it pass?}\n  B -- yes --> C[Commit]\n  B -- no --> A",
		"sequenceDiagram\n  participant P as Page\n  participant S as Server\n  P->>S: prompt\n  S-->>P: answer, token by token",
		"pie title Languages\n  \"Go\" : 70\n  \"TypeScript\" : 30",
		"gitGraph\n  commit\n  branch feature\n  commit\n  checkout main\n  merge feature",
	}
	hostile := []string{
		"flowchart TD\n  A[\"<img src='" + other.URL + "/a' onerror='parent.postMessage({height: 3000}, 1)'>\"] --> B\n  click A href \"javascript:alert(1)\"",
		"%%{init: {\"securityLevel\": \"loose\", \"themeCSS\": \"* { background: url(" + other.URL + "/b) }\"}}%%\nflowchart TD\n  A[\"<script>fetch('" + other.URL + "/c')</script>\"] --> B",
	}
	for _, size := range [][2]int{{390, 844}, {1280, 800}} {
		v := app(t, []llmtest.Turn{
			{Events: slices.Concat(llmtest.Say("So:\n\n"+fence(diagrams[0])+fence(diagrams[1])), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))},
			{Events: slices.Concat(llmtest.Say(fence(diagrams[2])+fence(diagrams[3])+fence(hostile[0])+fence(hostile[1])+fence("flowchart TD\n  A --> --> B")), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))},
		}, size[0], size[1], size[0] < 600)
		b := v.b
		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('textarea')`)
		r, page := v.c.get("/frame/diagram", nil)
		if strings.Contains(page, "{absent:") {
			// Most builds have it in a folder: then the page has the code, and says what is missing.
			v.sends("Draw")
			b.Until(`document.body.innerText.includes('keep the folder "web" of the release') && document.body.innerText.includes('Does it pass?')`)
			v.shows("diagrams-missing")
			t.Skip("this burin has nothing that draws diagrams: run web/extra/build")
		}
		if policy := r.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "connect-src") || strings.Contains(policy, "script-src 'unsafe-inline'") {
			t.Errorf("the frame has the policy %s, %s", policy, page)
		}
		v.sends("Draw")
		b.Until(`document.querySelectorAll('main figure iframe').length === 2 && [...document.querySelectorAll('main figure iframe')].every((f) => f.offsetHeight !== 192)`)
		v.shows("diagrams", "So:")
		v.sends("More")
		b.Until(`[...document.querySelectorAll('article.answer')].at(-1)?.querySelectorAll('figure iframe').length === 4 && document.body.innerText.includes("This diagram can't be drawn:") && !document.querySelector('[aria-busy=true], .go.stop')`)
		b.Until(`[...document.querySelectorAll('main figure iframe')].every((f) => f.offsetHeight !== 192 && f.offsetHeight < 2000)`)
		b.Eval(`document.querySelector('.scroller').scrollTop = 1e9`, nil)
		v.shows("diagrams-more")
		if n := asked.Load(); n != 0 {
			t.Errorf("diagrams sent %d requests", n)
		}
		b.Eval(`document.querySelector('main figure:has(iframe) [aria-label="Open in the side pane"]').click()`, nil)
		b.Until(`document.querySelector('aside iframe') && document.querySelector('aside iframe').offsetHeight !== 192 && document.querySelector('aside select').options.length >= 4`)
		v.shows("diagrams-pane")
		v.quiet("diagrams")
	}
}
