package github

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Pull is a pull request with its changes.
type Pull struct {
	Name, URL   string // owner/name#5
	Title, Body string
	Head        string // commit that it ends at
	Diff        string // as git writes it
}

// Pull gives the pull request behind a pr:// address.
func (r *Reader) Pull(ctx context.Context, address string) (*Pull, error) {
	a, err := r.parse(address)
	if err != nil {
		return nil, err
	}
	if a.scheme != "pr" || a.number == 0 {
		return nil, fmt.Errorf("%s: not a pull request", address)
	}
	var it item
	err = r.decode(ctx, a.repo, a.path(), &it)
	var diff string
	if err == nil {
		diff, err = r.ask(ctx, a.repo, a.path(), asDiff)
	}
	if errors.Is(err, errNotFound) {
		return nil, fmt.Errorf("%s: not found in %s, or not for you to see", address, a.repo)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &Pull{
		Name: fmt.Sprintf("%s#%d", a.repo, a.number), URL: it.HTMLURL, Title: strings.TrimSpace(it.Title), Body: lines(it.Body), Head: it.Head.SHA, Diff: diff,
	}, nil
}

// PullAddress is the pr:// address of what a person writes for a pull request: 5, #5, its address
// here or on the web. ok is false for anything else. A number of seven digits is a commit.
func PullAddress(written string) (address string, ok bool) {
	const longest = 6
	number := strings.TrimPrefix(written, "#")
	if isNumber(number) && len(number) <= longest {
		return "pr://" + number, true
	}
	if rest, ok := strings.CutPrefix(written, "pr://"); ok {
		return "pr://" + strings.TrimSuffix(rest, "/"), rest != ""
	}
	rest, ok := strings.CutPrefix(written, "https://"+githubHost+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 4 || parts[2] != "pull" || !isNumber(parts[3]) {
		return "", false
	}
	return "pr://" + parts[0] + "/" + parts[1] + "/" + parts[3], true
}
