package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// callback receives the browser's answer, over HTTP or pasted. The first answer
// that carries the right state is the only one.
type callback struct {
	host     string // as the vendor is told
	port     int
	path     string
	state    string
	inPath   bool // the state is the last part of the path
	redirect string
	issuer   string // "" = not known
	named    bool   // an answer has to name it

	results chan callbackResult // holds the one result
	once    sync.Once
	server  *http.Server
	served  chan struct{} // closed when server has ended
}

type callbackResult struct {
	code string
	err  error
}

func newCallback(p Provider, state string) *callback {
	cb := &callback{host: p.RedirectHost, port: p.RedirectPort, path: p.RedirectPath, state: state, issuer: p.Issuer, named: p.NamesIssuer, results: make(chan callbackResult, 1)}
	if cb.host == "" {
		cb.host = "127.0.0.1"
	}
	if cb.path == "" {
		cb.path = "/callback"
	}
	if p.Exchange == ForKey {
		// The vendor knows no state parameter, but returns to any path.
		cb.inPath = true
		cb.path = strings.TrimRight(cb.path, "/") + "/" + state
	}
	cb.setRedirect()
	return cb
}

func (cb *callback) setRedirect() {
	cb.redirect = "http://" + net.JoinHostPort(cb.host, strconv.Itoa(cb.port)) + cb.path
}

// listen serves the callback on 127.0.0.1.
func (cb *callback) listen() error {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(cb.port)))
	if err != nil {
		if cb.port == 0 {
			// The address must name some port, though nothing listens there.
			cb.port = 8976
			cb.setRedirect()
		}
		return fmt.Errorf("listen for the login's callback: %w: is another login under way?", err)
	}
	cb.port = l.Addr().(*net.TCPAddr).Port
	cb.setRedirect()
	cb.server = &http.Server{Handler: cb, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
	cb.served = make(chan struct{})
	go func() {
		defer close(cb.served)
		_ = cb.server.Serve(l)
	}()
	return nil
}

// close lets the page that is on its way arrive, briefly, and stops listening.
func (cb *callback) close() {
	if cb.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if cb.server.Shutdown(ctx) != nil {
		_ = cb.server.Close()
	}
	<-cb.served
}

var (
	errState = errors.New("this answer does not belong to the login that is under way")
	errUsed  = errors.New("this login has been answered already")
	errEmpty = errors.New("this answer holds no code")
)

// accept takes the parameters of an answer. Wrong ones do not end the login:
// any page the browser shows can send such a request.
func (cb *callback) accept(state string, q url.Values) error {
	if subtle.ConstantTimeCompare([]byte(state), []byte(cb.state)) != 1 {
		return errState
	}
	r := callbackResult{code: q.Get("code")}
	if named := q.Get("iss"); cb.issuer != "" && (named != "" || cb.named) && named != cb.issuer {
		// Another server's code must not be given to this one, nor this one's to another.
		r = callbackResult{err: errors.New("the login was answered by another authorization server than the one it began at")}
	} else if code := q.Get("error"); code != "" {
		r = callbackResult{err: fmt.Errorf("the login was refused: %s", describe(prose.Plain(code, maxWords), prose.Plain(q.Get("error_description"), maxWords)))}
	} else if r.code == "" {
		return errEmpty
	}
	err := errUsed
	cb.once.Do(func() {
		cb.results <- r
		err = r.err
	})
	return err
}

func describe(code, description string) string {
	switch {
	case code == "access_denied" && description == "":
		return "access was denied in the browser"
	case description == "":
		return code
	}
	return code + " (" + description + ")"
}

// ServeHTTP answers the browser.
func (cb *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address holds the code
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil || host != "127.0.0.1" && host != "localhost" {
		page(w, http.StatusForbidden, "Not here", "This address answers for burin on this machine only.")
		return
	}
	// A wrong state in the path must not look different from a wrong path.
	if r.URL.Path != cb.path {
		page(w, http.StatusNotFound, "Nothing here", "This address only receives the answer of a login.")
		return
	}
	if r.Method != http.MethodGet {
		h.Set("Allow", http.MethodGet)
		page(w, http.StatusMethodNotAllowed, "Not this way", "This address only receives the answer of a login.")
		return
	}
	q := r.URL.Query()
	state := q.Get("state")
	if cb.inPath {
		state = cb.state // the path was compared
	}
	switch err := cb.accept(state, q); {
	case err == nil:
		page(w, http.StatusOK, "That worked", "burin has received the answer. You can close this page and go back to the terminal.")
	case errors.Is(err, errUsed):
		page(w, http.StatusGone, "Already done", "This login has been answered already. You can close this page.")
	case errors.Is(err, errState), errors.Is(err, errEmpty):
		page(w, http.StatusBadRequest, "That did not fit", "Sorry, "+err.Error()+". Start the login again from the terminal if it does not continue.")
	default:
		page(w, http.StatusOK, "Not logged in", err.Error()+". You can close this page.")
	}
}

func page(w http.ResponseWriter, status int, title, text string) {
	w.WriteHeader(status)
	title, text = html.EscapeString(title), html.EscapeString(text)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>burin: %s</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem;color-scheme:light dark}h1{font-size:1.5rem}</style>
<h1>%s</h1><p>%s</p></html>
`, title, title, text)
}

// paste asks for the address until one fits or the login has ended.
func (cb *callback) paste(ctx context.Context, ask func(context.Context, string) (string, error)) {
	problem := ""
	for ctx.Err() == nil {
		text, err := ask(ctx, problem)
		if err != nil {
			if cb.server == nil {
				cb.once.Do(func() {
					cb.results <- callbackResult{err: fmt.Errorf("read the pasted address: %w", err)}
				})
			}
			return // the callback may still come
		}
		state, q, err := cb.parse(text)
		if err == nil {
			err = cb.accept(state, q)
		}
		switch {
		case err == nil, errors.Is(err, errUsed), q.Get("error") != "" && !errors.Is(err, errState):
			return
		}
		problem = err.Error()
	}
}

// parse reads a pasted address, or its query alone. A bare code is not taken: it
// does not say which login it answers.
func (cb *callback) parse(text string) (state string, q url.Values, err error) {
	text = strings.Trim(strings.TrimSpace(text), `"'<>`)
	u, err := url.Parse(text)
	if err != nil || !strings.Contains(text, "code=") && !strings.Contains(text, "error=") {
		return "", nil, errors.New("paste the whole address the browser ended at; it begins with " + "http://" + cb.host)
	}
	if u.Scheme == "" {
		if u, err = url.Parse("?" + strings.TrimLeft(text, "?")); err != nil {
			return "", nil, errState
		}
	}
	q = u.Query()
	if !cb.inPath {
		return q.Get("state"), q, nil
	}
	return u.Path[strings.LastIndexByte(u.Path, '/')+1:], q, nil
}
