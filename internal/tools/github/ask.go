package github

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// How long answers are kept. One that is older than fresh is used once more, and asked for
// again beside the call.
const (
	fresh    = 5 * time.Minute
	lasts    = 7 * 24 * time.Hour
	maxKept  = 200 // answers; the oldest go first
	maxBody  = 10 << 20
	askTime  = 30 * time.Second
	killWait = time.Second
)

// Forms that the API gives.
const (
	asJSON = "application/vnd.github+json"
	asDiff = "application/vnd.github.diff"
)

var (
	errNotFound  = errors.New("not found")
	errNoProgram = errors.New("gh cannot be asked")
)

// kept is an answer in a file.
type kept struct {
	At   time.Time `json:"at"`
	Body string    `json:"body"`
}

// ask gives an answer of the API, kept or new.
func (r *Reader) ask(ctx context.Context, repo Repo, path, accept string) (string, error) {
	sum := sha256.Sum256([]byte(repo.Host + " " + r.o.API + " " + path + " " + accept))
	file := ""
	if r.o.Keep != "" {
		file = filepath.Join(r.o.Keep, hex.EncodeToString(sum[:12])+".json")
	}
	if k, ok := r.load(file); ok {
		if r.o.Now().Sub(k.At) >= fresh {
			r.refresh(repo, path, accept, file)
		}
		return k.Body, nil
	}
	return r.renew(ctx, repo, path, accept, file)
}

func (r *Reader) load(file string) (k kept, ok bool) {
	if file == "" {
		return k, false
	}
	data, err := smallfile.Read(file, 4*maxBody)
	if err != nil || json.Unmarshal(data, &k) != nil {
		return k, false
	}
	age := r.o.Now().Sub(k.At)
	return k, age < lasts && age > -fresh // the clock may have been wrong
}

// renew asks, and keeps the answer.
func (r *Reader) renew(ctx context.Context, repo Repo, path, accept, file string) (string, error) {
	body, err := r.fetch(ctx, repo, path, accept)
	if err != nil {
		return "", err
	}
	text := r.o.Hide(string(body))
	if file != "" {
		r.store(file, text)
	}
	return text, nil
}

// store keeps an answer. Where that fails, the next call asks again.
func (r *Reader) store(file, text string) {
	data, err := json.Marshal(kept{r.o.Now(), text})
	if err != nil || os.MkdirAll(r.o.Keep, 0o700) != nil {
		return
	}
	_ = smallfile.Replace(file, data)
	entries, err := os.ReadDir(r.o.Keep)
	if err != nil {
		return
	}
	var infos []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range infos {
		if i >= maxKept || r.o.Now().Sub(info.ModTime()) > lasts {
			_ = os.Remove(filepath.Join(r.o.Keep, info.Name()))
		}
	}
}

// refresh asks beside the call, once at a time for each answer.
func (r *Reader) refresh(repo Repo, path, accept, file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refreshing[file] || r.ctx.Err() != nil {
		return
	}
	r.refreshing[file] = true
	r.wait.Go(func() {
		_, _ = r.renew(r.ctx, repo, path, accept, file) // what is kept stays
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.refreshing, file)
	})
}

// fetch asks gh, or the public API where gh cannot be asked.
func (r *Reader) fetch(ctx context.Context, repo Repo, path, accept string) ([]byte, error) {
	body, err := r.byProgram(ctx, repo, path, accept)
	if !errors.Is(err, errNoProgram) {
		return body, err
	}
	if repo.Host != githubHost {
		return nil, fmt.Errorf("%s is asked by gh only: install it, and run gh auth login --hostname %[1]s", repo.Host)
	}
	status, body, err := r.get().Get(ctx, r.o.API+"/"+path, accept)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		return body, nil
	case status == http.StatusNotFound, status == http.StatusGone:
		return nil, errNotFound
	}
	var said struct{ Message string }
	_ = json.Unmarshal(body, &said) // without a message the status says enough
	words := fmt.Sprintf("%s answers %d %s", repo.Host, status, http.StatusText(status))
	if said.Message != "" {
		words += ": " + prose.Short(said.Message, 200)
	}
	if status == http.StatusForbidden || status == http.StatusTooManyRequests {
		words += "; with gh installed and logged in the limits are wider"
	}
	return nil, errors.New(words)
}

// needsLogin is what gh exits with if nobody is logged in.
const needsLogin = 4

func (r *Reader) byProgram(ctx context.Context, repo Repo, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	args := []string{"api", "--method", "GET", "-H", "Accept: " + accept}
	if repo.Host != githubHost {
		args = append(args, "--hostname", repo.Host)
	}
	cmd, err := installed.Command(ctx, r.o.Writable, "gh", append(args, path)...)
	if err != nil {
		return nil, errNoProgram
	}
	if repo.Host != githubHost && os.Getenv("GH_HOST") != repo.Host {
		// gh gives this token to whichever host it is told, and a repository can name any.
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains([]string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}, strings.ToUpper(name))
		})
	}
	cmd.Env = append(cmd.Env, "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	cmd.WaitDelay = killWait
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	switch exit, isExit := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("gh does not answer: %w", ctx.Err())
	case out.over:
		return nil, fmt.Errorf("the answer has more than %d MB", maxBody>>20)
	case isExit && exit.ExitCode() == needsLogin:
		return nil, errNoProgram
	case isExit && strings.Contains(said.String(), "HTTP 404"):
		return nil, errNotFound
	case isExit:
		return nil, fmt.Errorf("gh says: %s", prose.Short(strings.TrimSpace(said.String()), 300))
	case err != nil:
		return nil, errNoProgram
	}
	return out.Bytes(), nil
}

// limited takes output up to maxBody.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxBody {
		l.over = true
		return len(p), nil // else the program would fail for another reason
	}
	return l.Buffer.Write(p)
}
