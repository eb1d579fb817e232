package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Kinds of what [Session.Shake] removes.
const (
	ShakeBulk   = "bulk"   // whole tool results, and large blocks of text; they move to an artifact
	ShakeImages = "images" // images; they stay in the transcript
)

// Shake shortens the conversation without a model, and returns how many tokens that freed; 0
// means there was nothing to gain. The user asked for room, so new messages are not spared.
// kind is one of the Shake constants; "" is ShakeBulk.
func (s *Session) Shake(ctx context.Context, kind string) (freed int, err error) {
	var rule func([]transcript.Entry) *transcript.Prune
	switch {
	case kind == ShakeImages:
		rule = withoutImages
	case kind != "" && kind != ShakeBulk:
		return 0, fmt.Errorf("cannot remove %q (want %s or %s)", kind, ShakeBulk, ShakeImages)
	default:
		rule = func(path []transcript.Entry) *transcript.Prune {
			o := s.compactor.pruneOptions(true)
			o.Protect, o.MinSavings = -1, -1
			p, failed := compact.Shake(path, o, s.o.Ground.Artifact)
			err = failed
			return p
		}
	}
	_, end, busy := s.stage.wake(ctx)
	if busy != nil {
		return 0, busy
	}
	defer end()
	s.compactor.refresh()
	if kind == ShakeImages && !slices.ContainsFunc(s.agent.Messages(), hasImage) {
		return 0, nil
	}
	before := s.tokenCounter.estimate()
	s.compactor.prune("shake", rule)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, errors.New("nothing can be removed: this session is not saved, so there is nowhere to keep it")
	}
	return max(0, before-s.tokenCounter.estimate()), err
}

// withoutImages removes all images from what the model gets.
func withoutImages(path []transcript.Entry) *transcript.Prune {
	return without(path, path, compact.ReasonShake, func(b llm.Block) (string, bool) {
		_, ok := b.(llm.Image)
		return "[a picture was here]", ok
	})
}

func hasImage(m llm.Message) bool {
	return slices.ContainsFunc(m.Content, func(b llm.Block) bool { _, ok := b.(llm.Image); return ok })
}

// Compact replaces the conversation with a summary, except for the newest part. It first stops
// what is running, unless there is nothing to summarize.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	if _, err := s.compactor.planned(); err != nil {
		return err
	}
	if err := s.stage.stop(ctx); err != nil {
		return err
	}
	ctx, end, err := s.stage.wake(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.compactor.compact(ctx, "manual", instructions)
}
