package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/git"
)

const githubHost = "github.com"

// Repo is a repository.
type Repo struct{ Host, Owner, Name string }

func (r Repo) String() string { return r.Owner + "/" + r.Name }

var repoPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`) })

// ParseRemote finds the repository in the URL of a remote: https, ssh or git@host:owner/name.
func ParseRemote(remote string) (Repo, error) {
	rest := strings.TrimSuffix(strings.TrimSpace(remote), "/")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	} else {
		rest = strings.Replace(rest, ":", "/", 1)
	}
	if _, after, ok := strings.Cut(rest, "@"); ok {
		rest = after
	}
	parts := strings.Split(strings.TrimSuffix(rest, ".git"), "/")
	if len(parts) == 3 {
		host, _, _ := strings.Cut(strings.ToLower(parts[0]), ":")
		host = strings.TrimPrefix(host, "www.")
		if host == "ssh.github.com" {
			host = githubHost
		}
		if strings.Contains(host, ".") && repoPart().MatchString(host) && repoPart().MatchString(parts[1]) && repoPart().MatchString(parts[2]) {
			return Repo{host, parts[1], parts[2]}, nil
		}
	}
	return Repo{}, errors.New("the remote is not a repository on GitHub")
}

// originOf is the repository that the folder's origin is.
func originOf(dir string) (Repo, error) {
	none := errors.New("no repository is known here: write it out, as issue://owner/name/5")
	if dir == "" {
		return Repo{}, none
	}
	remote := git.Origin(context.Background(), dir)
	if remote == "" {
		return Repo{}, none
	}
	return ParseRemote(remote)
}

// address is what an address asks for.
type address struct {
	scheme string // issue or pr
	repo   Repo
	number int // 0: a list

	diff     bool
	file     int // of the diff, from 1; 0: which files there are
	all      bool
	comments bool

	state, author, label string // of a list
	limit                int
}

// Bounds of lists.
const (
	defaultLimit = 30
	maxLimit     = 100 // of one request
)

func (r *Reader) parse(written string) (*address, error) {
	scheme, rest, _ := strings.Cut(written, "://")
	rest, query, _ := strings.Cut(rest, "?")
	a := &address{scheme: scheme, comments: true, state: "open", limit: defaultLimit}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	if len(parts) > 0 && !isNumber(parts[0]) {
		if len(parts) < 2 || !repoPart().MatchString(parts[0]) || !repoPart().MatchString(parts[1]) {
			return nil, fmt.Errorf("%s: write %s://5, %[2]s://owner/name/5 or %[2]s://owner/name", written, scheme)
		}
		a.repo = Repo{githubHost, parts[0], parts[1]}
		parts = parts[2:]
	} else {
		var err error
		if a.repo, err = r.origin(); err != nil {
			return nil, fmt.Errorf("%s: %w", written, err)
		}
	}
	if len(parts) > 0 {
		n, err := strconv.Atoi(parts[0])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is not a number", written, parts[0])
		}
		a.number = n
		if err := a.below(parts[1:]); err != nil {
			return nil, fmt.Errorf("%s: %w", written, err)
		}
	}
	if err := a.query(query); err != nil {
		return nil, fmt.Errorf("%s: %w", written, err)
	}
	return a, nil
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// below takes what follows the number.
func (a *address) below(parts []string) error {
	switch {
	case len(parts) == 0:
		return nil
	case a.scheme != "pr" || parts[0] != "diff" || len(parts) > 2:
		return fmt.Errorf("nothing is known behind %s://%d but pr://%[2]d/diff", a.scheme, a.number)
	}
	a.diff = true
	if len(parts) == 2 {
		n, err := strconv.Atoi(parts[1])
		switch {
		case parts[1] == "all":
			a.all = true
		case err != nil || n < 1:
			return fmt.Errorf("diff/%s: want the number of a file, or all", parts[1])
		}
		a.file = n
	}
	return nil
}

// query takes the parameters.
func (a *address) query(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the parameters after ? are not valid: %w", err)
	}
	for name, all := range values {
		value := all[len(all)-1]
		switch {
		case name == "comments" && a.number > 0:
			a.comments = value != "0"
		case name == "author" && a.number == 0:
			a.author = value
		case name == "label" && a.number == 0:
			a.label = value
		case name == "limit" && a.number == 0:
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxLimit {
				return fmt.Errorf("limit=%s: want 1 to %d", value, maxLimit)
			}
			a.limit = n
		case name == "state" && a.number == 0:
			states := []string{"open", "closed", "all"}
			if a.scheme == "pr" {
				states = append(states, "merged")
			}
			if !slices.Contains(states, value) {
				return fmt.Errorf("state=%s: want %s", value, strings.Join(states, ", "))
			}
			a.state = value
		case a.number > 0:
			return fmt.Errorf("unknown parameter %q: want comments", name)
		default:
			return fmt.Errorf("unknown parameter %q: want state, limit, author or label", name)
		}
	}
	return nil
}

// path is what the API is asked for first.
func (a *address) path() string {
	kind := "issues"
	if a.scheme == "pr" {
		kind = "pulls"
	}
	at := "repos/" + a.repo.String() + "/" + kind
	if a.number > 0 {
		return at + "/" + strconv.Itoa(a.number)
	}
	q := url.Values{"state": {a.state}, "per_page": {strconv.Itoa(maxLimit)}}
	if a.state == "merged" {
		q.Set("state", "closed")
	}
	if a.scheme == "issue" { // the other list has no such filters
		if a.author != "" {
			q.Set("creator", a.author)
		}
		if a.label != "" {
			q.Set("labels", a.label)
		}
	}
	return at + "?" + q.Encode()
}
