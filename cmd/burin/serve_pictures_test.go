package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

const (
	areaAnswer = "The area of a regular polygon with $n$ sides of length $s$ is that of $n$ triangles:\n\n$$\nA = \\frac{n\\,s^2}{4\\,\\tan\\frac{\\pi}{n}}\n$$\n\n" +
		"| Sides | Area for $s = 1$ |\n|---|--:|\n| 3 | 0.433 |\n| 6 | 2.598 |\n| 12 | 11.196 |\n\nIn Python:\n\n" +
		"```python\nfrom math import pi, tan\n\ndef area(n: int, s: float) -> float:\n    \"\"\"Area of a regular polygon.\"\"\"\n    return n * s**2 / (4 * tan(pi / n))\n```\n"
	polygonPage = "Here is a page to play with. Move the slider:\n\n```html\n<title>Polygons</title>\n<style>\n  body { font: 18px system-ui; text-align: center; background: #fffaf5; color: #222 }\n  svg { width: 300px; margin: 1em auto; display: block }\n  polygon { fill: #f4a46033; stroke: #b4541a; stroke-width: 2 }\n</style>\n" +
		"<svg viewBox=\"-110 -110 220 220\"><polygon id=p /></svg>\n<input id=n type=range min=3 max=12 value=7 aria-label=sides>\n<p id=t></p>\n<script>\nconst draw = () => {\n  const n = +document.getElementById('n').value;\n  const at = (i) => [100 * Math.sin(2 * Math.PI * i / n), -100 * Math.cos(2 * Math.PI * i / n)];\n" +
		"  document.getElementById('p').setAttribute('points', Array.from({length: n}, (_, i) => at(i)).join(' '));\n  document.getElementById('t').textContent = n + ' sides';\n};\ndocument.getElementById('n').oninput = draw;\ndraw();\n</script>\n```\n\nThe corners lie on a circle, so the shape stays regular.\n"
	longAnswer = "A polygon with many sides comes close to a circle. With $n$ sides on a circle of radius $r$, the area is\n\n$$\nA_n = \\frac{n\\,r^2}{2}\\,\\sin\\frac{2\\pi}{n}\n$$\n\nand since $\\sin x \\approx x$ for small $x$, it tends to $\\pi r^2$. **Archimedes** went as far as 96 sides, which gives two digits of $\\pi$."
)

// TestAppPictures draws the pictures of the chat app for the documentation: BURIN_PICTURES=1.
func TestAppPictures(t *testing.T) {
	if os.Getenv("BURIN_PICTURES") != "1" {
		t.Skip("writes docs/pictures: set BURIN_PICTURES=1")
	}
	used := llm.Usage{Input: 1200, Output: 300}
	answer := func(text string) llmtest.Turn {
		return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
	}
	for _, look := range []struct {
		name          string
		width, height int
		dark          bool
	}{{"desktop-light", 1280, 800, false}, {"desktop-dark", 1280, 800, true}, {"phone-light", 390, 844, false}, {"phone-dark", 390, 844, true}} {
		t.Run(look.name, func(t *testing.T) {
			v := app(t, []llmtest.Turn{
				answer("A day in the hills, then."), answer("Yes: with sesame oil."), answer(areaAnswer), answer(polygonPage),
				{Events: llmtest.Say(longAnswer), Fault: llmtest.Fault{StallAfterEvents: 45}},
			}, look.width, look.height, look.dark)
			b := v.b
			shot := func(name string) { v.draws(look.name + "-" + name) }
			ids := map[string]string{}
			for _, p := range [][2]string{{"🧭", "Trip to Lisbon"}, {"🍜", "Recipes"}, {"📐", "Geometry"}} {
				var is struct{ ID string }
				v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": p[1], "icon": p[0]}, &is)
				ids[p[1]] = is.ID
			}
			for _, c := range [][2]string{{"Trip to Lisbon", "Is Sintra worth a day?"}, {"Recipes", "Can I fry rice the day after?"}} {
				var is struct{ Chat struct{ ID string } }
				message := map[string]any{"role": "user", "content": c[1]}
				v.c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": ids[c[0]], "message": map[string]any{"id": "m", "message": message}}, &is)
				v.c.must(http.StatusOK, "POST", "/v1/sessions/"+is.Chat.ID+"/wait", map[string]any{"id": "m"}, nil)
			}
			b.Open(v.c.url + "/p/" + ids["Geometry"])
			b.Until(`document.querySelector('textarea') && document.querySelector('.chip')?.innerText`)
			shot("home")
			v.sends("What is the area of a regular polygon?")
			b.Until(`location.pathname.startsWith('/c/') && document.querySelectorAll('.katex').length > 3 && document.querySelector('.k') && !document.querySelector('[aria-busy=true], .go.stop')`)
			shot("chat")
			v.sends("Draw one that I can change")
			b.Until(`document.body.innerText.includes('stays regular') && !document.querySelector('[aria-busy=true], .go.stop')`)
			b.Eval(`document.querySelector('[aria-label="Open in the side pane"]').click()`, nil)
			b.Until(`document.querySelector('aside iframe[src="/frame/live"]')`)
			shot("pane")
			b.Eval(`document.querySelector('aside header .icon').click()`, nil)
			b.Until(`!document.querySelector('aside')`)
			v.sends("And with ever more sides?")
			b.Until(`document.querySelector('[aria-busy=true] .katex')`)
			shot("streaming")
			b.Open(v.c.url + "/settings/usage")
			b.Until(`document.body.innerText.includes('Geometry')`)
			shot("usage")
		})
	}
	for _, size := range [][2]int{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint("coding", size[0]), func(t *testing.T) {
			v := app(t, codingTurns(), size[0], size[1], true)
			greeting(v)
			v.b.Open(v.c.url + "/s")
			v.b.Until(`document.querySelector('main section li .waiting')`)
			v.b.Eval(`document.querySelector('main section li a').click()`, nil)
			v.b.Until(`document.querySelector('.ask .add')`)
			v.draws(fmt.Sprint("coding-", size[0]))
		})
	}
}

// inDocs are the pictures that the documentation shows; the others are for people who look.
var inDocs = []string{
	"desktop-light-pane", "desktop-dark-streaming", "phone-light-chat", "phone-dark-streaming", "coding-390", "coding-1280",
	"phone-light-setup", "phone-dark-question", "desktop-light-tools", "desktop-dark-edited", "phone-light-offline", "desktop-light-terminal", // of TestServeAppJourney
}

// draws writes what the browser shows.
func (v *appVisit) draws(name string) {
	v.t.Helper()
	v.b.Settle()
	into := os.Getenv(pictures)
	if into == "" {
		if into = filepath.Join("..", "..", "docs", "pictures"); !slices.Contains(inDocs, name) {
			return
		}
	}
	if err := os.WriteFile(filepath.Join(into, "app-"+name+".png"), v.b.Picture(), 0o644); err != nil {
		v.t.Fatal(err)
	}
}
