package credential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
)

// ErrNoCredential says that no credential has that id.
var ErrNoCredential = errors.New(`there is no credential with that id: see "burin keys"`)

// ErrNotRenewable says that a credential is none that can be renewed: an API
// key, a key of the environment, or a login without a refresh token.
var ErrNotRenewable = errors.New("this credential cannot be renewed")

// The errors below are also an [*llm.Error] to [errors.As], so that a stream
// whose key cannot be had ends with the right kind and the right words.

// NotFoundError says that no key was found and where it was looked for.
type NotFoundError struct {
	Providers []string
	Variables []string // environment variables
	Logins    []string // providers that have a login
	Disabled  []string // stored credentials that were passed over, with the cause
	Servers   []string // local servers that were asked; filled in by the caller
}

// Merge adds what another search looked for, so that one error can speak for
// several providers.
func (e *NotFoundError) Merge(o *NotFoundError) {
	for _, l := range []struct {
		to   *[]string
		from []string
	}{
		{&e.Providers, o.Providers},
		{&e.Variables, o.Variables},
		{&e.Logins, o.Logins},
		{&e.Disabled, o.Disabled},
		{&e.Servers, o.Servers},
	} {
		for _, s := range l.from {
			if !slices.Contains(*l.to, s) {
				*l.to = append(*l.to, s)
			}
		}
	}
}

func (e *NotFoundError) Error() string {
	if len(e.Providers) > manyProviders {
		return "no API key found: " + e.detail()
	}
	return "no API key for " + join(e.Providers, "or") + ": " + e.detail()
}

// manyProviders is from how many providers on an error names the best known ones only.
const manyProviders = 4

// detail says what to do, in one line: the commonest ways, and where the others are listed.
func (e *NotFoundError) detail() string {
	provider, variables := "PROVIDER", e.Variables
	switch {
	case len(e.Providers) == 1:
		provider = e.Providers[0]
	case len(e.Providers) > manyProviders:
		variables = nil
		for _, known := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
			if slices.Contains(e.Variables, known) {
				variables = append(variables, known)
			}
		}
	}
	s := "set its apiKey in models.yml"
	if len(variables) > 0 {
		s = "set " + join(variables, "or")
	}
	if slices.Contains(e.Logins, provider) {
		s += ", or run burin login " + provider
	}
	s += ", or run burin keys add " + provider
	if len(e.Disabled) > 0 {
		s += ". Not used: " + join(e.Disabled, "and")
	}
	if len(e.Servers) > 0 {
		s += ". No model at " + join(e.Servers, "or")
	}
	return s + "; burin help keys lists all ways"
}

// As gives the error of a stream.
func (e *NotFoundError) As(target any) bool {
	return asLLM(target, &llm.Error{Kind: llm.ErrAuth, Message: "no API key: " + e.detail(), Err: e})
}

// BlockedError says that every stored credential of a provider waits for a limit
// to end.
type BlockedError struct {
	Provider string
	Until    time.Time // when the first is free again
	Count    int       // how many are blocked
	now      time.Time
}

func (e *BlockedError) Error() string { return e.Provider + ": " + e.detail() }

func (e *BlockedError) detail() string {
	what := "the stored credential has"
	if e.Count > 1 {
		what = fmt.Sprintf("all %d stored credentials have", e.Count)
	}
	layout := "15:04"
	if e.Until.Sub(e.now) > 20*time.Hour {
		layout = "2 Jan 15:04"
	}
	return fmt.Sprintf("%s reached a limit; free again at %s (in %s)", what, e.Until.Local().Format(layout), short(e.Until.Sub(e.now)))
}

// short is a wait in words that fit it.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(1, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// As gives the error of a stream.
func (e *BlockedError) As(target any) bool {
	return asLLM(target, &llm.Error{Kind: llm.ErrUsageLimit, Message: e.detail(), ResetAt: e.Until, Provider: e.Provider, Err: e})
}

// UnusableError says that a stored credential exists and cannot be used. It is
// still stored.
type UnusableError struct {
	Provider  string
	ID        int64 // 0 = the database itself
	Reason    string
	Transient bool // the network or a server failed; it may pass
	Err       error
}

func (e *UnusableError) Error() string { return e.Provider + ": " + e.Reason }

// Unwrap is the cause.
func (e *UnusableError) Unwrap() error { return e.Err }

// As gives the error of a stream.
func (e *UnusableError) As(target any) bool {
	kind := llm.ErrAuth
	if e.Transient {
		kind = llm.ErrTransport
	}
	return asLLM(target, &llm.Error{Kind: kind, Message: e.Reason, Provider: e.Provider, Err: e.Err})
}

func asLLM(target any, e *llm.Error) bool {
	t, ok := target.(**llm.Error)
	if ok {
		*t = e
	}
	return ok
}

// unreadable is the error of a row whose secret cannot be opened.
func unreadable(r *row, err error) *UnusableError {
	return &UnusableError{
		Provider: r.provider, ID: r.id, Err: err,
		Reason: fmt.Sprintf("stored %s cannot be read: %v; restore what is missing, or run \"burin keys remove %d\" and add it again", r.name(), err, r.id),
	}
}

// join is "a, b and c".
func join(list []string, last string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
	}
	return strings.Join(list, "")
}
