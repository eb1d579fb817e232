package snap_test

import (
	"context"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact/snap"
)

func BenchmarkRender(b *testing.B) {
	text := snap.Serialize(conversation(400), snap.SerializeOptions{})
	for _, s := range snap.Shapes() {
		b.Run(s.Name, func(b *testing.B) {
			n := min(len(text), 6*s.Capacity())
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := snap.Render(context.Background(), text[:n], s, snap.RenderOptions{MaxFrames: 16}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSerialize(b *testing.B) {
	entries := conversation(400)
	n := 0
	for _, e := range entries {
		n += len(e.Message.Text())
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		snap.Serialize(entries, snap.SerializeOptions{})
	}
}

func BenchmarkImages(b *testing.B) {
	m := &llm.Model{Provider: "anthropic", ID: "claude-opus-4-7", Input: []llm.Modality{llm.ModalityImage}}
	e, err := snap.Compact(context.Background(), plan(b, conversation(120)), m, snap.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if blocks, err := snap.Images(&e); err != nil || len(blocks) != 8 {
			b.Fatal(len(blocks), err)
		}
	}
}
