package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/burin-dev/burin/web"
)

// framePath is where the pages are in which the app shows what a model has drawn or written: the
// browser runs them with an origin of their own, without the person's cookies, and they reach
// nothing. The app sends them what to show.
const framePath = "/frame/"

// diagramFolder is where what draws diagrams is: it has a third of the size of all of burin's code.
var diagramFolder = apart{"what draws diagrams", "web", "mermaid.js.gz", "docs/serve.md"}

// diagramPath is the frame that draws the diagrams of a page, for the frames that show them: what
// draws them is loaded once.
const diagramPath = framePath + "diagram"

// frames are the kinds of these pages: what the browser lets each of them do, and its script.
func frames(kind, site, why string) (policy, script string, ok bool) {
	const size = `new ResizeObserver(() => parent.postMessage({height: document.documentElement.offsetHeight}, "*")).observe(document.documentElement);`
	const heard = `addEventListener("message", (e) => { if (e.source !== parent || typeof e.data !== "string") return; `
	switch kind {
	case "still": // a drawing: its scripts do not run
		script = size + heard + `document.body.innerHTML = e.data; });`
		policy = "img-src data:; style-src 'unsafe-inline'; font-src data:; script-src 'sha256-" + sum(script) + "'"
	case "live": // a page with scripts, which reach nothing
		script = heard + `document.open(); document.write(e.data); document.close(); });`
		policy = "img-src data: blob:; media-src data: blob:; style-src 'unsafe-inline'; font-src data:; script-src 'unsafe-inline'"
	case "remote": // a picture of another host, after a click
		script = size + heard + `const i = new Image(); i.referrerPolicy = "no-referrer"; i.onload = () => parent.postMessage({loaded: true}, "*"); i.onerror = () => parent.postMessage({failed: true}, "*"); i.src = e.data; document.body.replaceChildren(i); });`
		policy = "img-src http: https:; style-src 'sha256-" + sum(frameStyle) + "'; script-src 'sha256-" + sum(script) + "'"
	case "diagram":
		if script = heardDiagrams; why != "" {
			text, _ := json.Marshal(why) // with < as an escape, so that it ends no script
			script = `parent.postMessage({absent: ` + string(text) + `}, "*");`
		}
		policy = "img-src data:; style-src 'unsafe-inline'; font-src data:; script-src " + site + diagramPath + "/ 'sha256-" + sum(script) + "'"
	default:
		return "", "", false
	}
	return "sandbox allow-scripts; default-src 'none'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'; " + policy, script, true
}

const frameStyle = `html{color-scheme:light dark}body{margin:0;overflow-wrap:anywhere}svg,img{display:block;max-width:100%;height:auto;margin:auto}`

func sum(text string) string {
	is := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(is[:])
}

// heardDiagrams answers each {id, text, dark} with {id, svg}, or with {id, error}, one after the other.
// Mermaid takes no scripts and no handlers from a diagram in its strict level, and refuses one that is
// larger than it says here.
const heardDiagrams = `let last = Promise.resolve(); addEventListener("message", (e) => { if (e.source !== parent) return; const { id, text, dark } = e.data; last = last.then(async () => { try { ` +
	`mermaid.initialize({ startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true, theme: dark ? "dark" : "neutral", look: "classic", fontFamily: "system-ui, sans-serif", maxTextSize: 50000, maxEdges: 500 }); ` +
	`const { svg } = await mermaid.render("d" + id, text); parent.postMessage({ id, svg }, "*"); ` +
	`} catch (x) { parent.postMessage({ id, error: String(x && x.message || x).split("\nExpecting ")[0].slice(0, 300) }, "*"); document.body.replaceChildren(); } }); }); parent.postMessage({ ready: true }, "*");`

// framed serves these pages. They say nothing of anybody.
func framed(version string) []page {
	diagrams := diagramFolder.find(web.Parts(), version)
	return []page{
		{path: "GET " + framePath + "{kind}", app: true, open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			why := ""
			if r.URL.Path == diagramPath {
				if _, err := diagrams(); err != nil {
					why = wordsOf(w, err.Error())
				}
			}
			frame(w, r, r.PathValue("kind"), why)
		}},
		{path: "GET " + diagramPath + "/mermaid.js", app: true, open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			files, err := diagrams()
			if err != nil {
				failed(w, err)
				return
			}
			packed, err := fs.ReadFile(files, diagramFolder.file)
			if err != nil {
				failed(w, err)
				return
			}
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // the frame has an origin of its own
			give(w, r, packed)
		}},
	}
}

// frame serves one of these pages. why is what is missing for it; then it says no more than that.
func frame(w http.ResponseWriter, r *http.Request, kind, why string) {
	policy, script, ok := frames(kind, site(r), why)
	if !ok {
		fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s", r.URL.Path))
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Cache-Control", "no-cache")
	load := ""
	if framePath+kind == diagramPath && why == "" {
		load = `<script src="` + diagramPath + `/mermaid.js"></script>`
	}
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Preview</title><style>`+frameStyle+`</style><body>`+load+`<script>`+script+`</script></body></html>`) // who has gone reads nothing
}
