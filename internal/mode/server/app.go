package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/web"
)

// appPath is where the files of the chat app are; scripts of pages come from there, and from
// [passkeyPath], only.
const appPath = "/app/"

// workerPath is where the service worker of the chat app is: above what it serves.
const workerPath = "/sw.js"

// appPages are the addresses of the chat app, which all have the same page, and its files.
func appPages() []page {
	shell := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache") // it is asked for each time, and mostly not modified
		built(w, r, web.Page)
	}
	file := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		built(w, r, r.PathValue("file"))
	}
	// What has no name that changes with its content is asked for each time.
	fixed := func(name, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("Content-Type", kind)
			built(w, r, name)
		}
	}
	return []page{
		{path: "GET " + workerPath, app: true, open: true, serve: fixed("sw.js", "text/javascript; charset=utf-8")},
		{path: "GET /manifest.webmanifest", app: true, open: true, serve: fixed("manifest.webmanifest", "application/manifest+json")},
		{path: "GET /{$}", app: true, serve: shell},
		{path: "GET /c/{id}", app: true, serve: shell},
		{path: "GET /x/{ids}", app: true, serve: shell}, // chats side by side
		{path: "GET /p/{id}", app: true, serve: shell},
		{path: "GET /s", app: true, serve: shell},
		{path: "GET /s/{id}", app: true, serve: shell},
		{path: "GET /p/{id}/settings", app: true, serve: shell},
		{path: "GET /p/{id}/files", app: true, serve: shell},
		{path: "GET /chats", app: true, serve: shell},
		{path: "GET /settings", app: true, serve: shell},
		{path: "GET /settings/{section}", app: true, serve: shell},
		{path: "GET /help", app: true, serve: shell},
		{path: "GET /help/{page...}", app: true, serve: shell},
		{path: "GET /share/{id}", app: true, open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Robots-Tag", "noindex, nofollow")
			shell(w, r)
		}},
		{path: "GET /private", app: true, serve: shell},
		{path: "GET /private/{id}", app: true, serve: shell},
		{path: "GET /private/{id}/{rest...}", app: true, serve: shell},
		{path: "GET " + appPath + "{file}", app: true, open: true, serve: file},
	}
}

// appPolicy is what the browser lets the app do: scripts and styles are files of the server, and
// no text becomes a script, a style or HTML. A worker of the app may have the same. What a model
// made is shown in frames that have policies of their own; see [framePath].
func appPolicy(r *http.Request) string {
	return "default-src 'none'; script-src " + site(r) + appPath + "; style-src " + site(r) + appPath +
		"; img-src 'self' data: blob:; media-src 'self'; font-src " + site(r) + appPath + "; connect-src 'self'; frame-src " + site(r) + framePath + "; worker-src " + site(r) + appPath + " " + site(r) + workerPath + " " + site(r) + loopPath +
		"; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'" +
		"; require-trusted-types-for 'script'; trusted-types svelte-trusted-html burin"
}

// typeOf is the type of a built file.
func typeOf(name string) string {
	if path.Ext(name) == ".woff2" { // which not every system knows
		return "font/woff2"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// built serves a built file.
func built(w http.ResponseWriter, r *http.Request, name string) {
	packed, ok := web.File(name)
	if !ok {
		w.Header().Set("Cache-Control", "no-store")
		fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s: reload the page, burin may have been updated", r.URL.Path))
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", typeOf(name))
	}
	give(w, r, packed)
}

// give answers with what is packed with gzip, unpacked for those who don't know gzip.
func give(w http.ResponseWriter, r *http.Request, packed []byte) {
	sum := sha256.Sum256(packed)
	head := w.Header()
	head.Set("Vary", "Accept-Encoding")
	tag := hex.EncodeToString(sum[:12])
	data := packed
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		head.Set("Content-Encoding", "gzip")
		tag += "-gzip"
	} else {
		unpack, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil {
			data, err = io.ReadAll(unpack)
		}
		if err != nil {
			failed(w, fmt.Errorf("unpack %s: %w", r.URL.Path, err))
			return
		}
	}
	head.Set("ETag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
