package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
)

// framePath is where the pages are in which the app shows what a model has drawn or written: the
// browser runs them with an origin of their own, without the person's cookies, and they reach
// nothing. The app sends them what to show.
const framePath = "/frame/"

// frames are the kinds of these pages: what the browser lets each of them do, and its script.
func frames(kind string) (policy, script string, ok bool) {
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

// frame serves one of these pages. It says nothing of anybody.
func frame(w http.ResponseWriter, r *http.Request) {
	policy, script, ok := frames(r.PathValue("kind"))
	if !ok {
		fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s", r.URL.Path))
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Preview</title><style>`+frameStyle+`</style><body><script>`+script+`</script></body></html>`) // who has gone reads nothing
}
