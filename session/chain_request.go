package session

import (
	"context"
	"hash/maphash"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// requests is the chain of request interceptors.
type requests struct {
	links    []RequestInterceptor
	redactor redactor
	seed     maphash.Seed
}

// touched names the interceptors that changed each part of a request.
type touched struct{ tools, system, messages []string }

// change lets the links change a request, and records who changed what.
func (x *requests) change(ctx context.Context, purpose string, r *llm.Request) (t touched, err error) {
	if len(x.links) == 0 {
		return t, nil
	}
	model, before := r.Model, x.hash(r)
	for _, l := range x.links {
		if err := guarded("interceptor", l.Name, func() error { return l.Change(ctx, purpose, r) }); err != nil {
			return t, x.redactor.err(err)
		}
		r.Model = model
		after := x.hash(r)
		for i, names := range []*[]string{&t.tools, &t.system, &t.messages} {
			if after[i] != before[i] {
				*names = append(*names, l.Name)
			}
		}
		before = after
	}
	r.System, r.Messages = x.redactor.hide(r.System), x.redactor.messages(r.Messages)
	return t, nil
}

// hash returns hashes of the tools, system prompt and messages of a request.
func (x *requests) hash(r *llm.Request) (parts [3]uint64) {
	var h maphash.Hash
	h.SetSeed(x.seed)
	for i := range r.Messages {
		maphash.WriteComparable(&h, messageHash(x.seed, &r.Messages[i]))
	}
	return [3]uint64{toolsHash(x.seed, r.Tools), maphash.String(x.seed, r.System), h.Sum64()}
}

// changedBy says who changed a part of a request; "" if nobody did.
func changedBy(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", changed by " + strings.Join(names, " and ")
}
