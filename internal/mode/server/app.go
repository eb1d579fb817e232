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
	return []page{
		{path: "GET /{$}", app: true, serve: shell},
		{path: "GET /c/{id}", app: true, serve: shell},
		{path: "GET /p/{id}", app: true, serve: shell},
		{path: "GET /private", app: true, serve: shell},
		{path: "GET /private/{id}", app: true, serve: shell},
		{path: "GET /private/{id}/{rest...}", app: true, serve: shell},
		{path: "GET " + appPath + "{file}", app: true, open: true, serve: file},
	}
}

// appPolicy is what the browser lets the app do: scripts and styles are files of the server, and
// no text becomes a script, a style or HTML. A worker of the app may have the same.
func appPolicy(r *http.Request) string {
	return "default-src 'none'; script-src " + site(r) + appPath + "; style-src " + site(r) + appPath +
		"; img-src 'self' data: blob:; font-src " + site(r) + appPath + "; connect-src 'self'; worker-src " + site(r) + appPath + " " + site(r) + loopPath +
		"; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'" +
		"; require-trusted-types-for 'script'; trusted-types svelte-trusted-html burin"
}

// built serves a built file.
func built(w http.ResponseWriter, r *http.Request, name string) {
	packed, ok := web.File(name)
	if !ok {
		w.Header().Set("Cache-Control", "no-store")
		fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s: reload the page, burin may have been updated", r.URL.Path))
		return
	}
	sum := sha256.Sum256(packed)
	head := w.Header()
	head.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
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
			failed(w, fmt.Errorf("unpack %s: %w", name, err))
			return
		}
	}
	head.Set("ETag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
