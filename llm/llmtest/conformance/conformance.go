// Package conformance is the suite that every wire format passes: the client
// and the server half of a codec, run against each other over real connections
// and over cut, split, stalled and damaged ones.
//
// A codec's test calls [Run] with a [Subject]. The subject names only what its
// format cannot carry; everything else is expected to work the same for all.
package conformance

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Subject is one wire format, both directions. Its bool fields name what the
// format has no words for; the suite then expects the next best thing.
type Subject struct {
	Name   string // names the group of subtests
	Server wire.Server
	// Model is a capable model of the format: it thinks and reads images and
	// documents. Its id must be one that the codec treats as such.
	Model llm.Model
	// Open makes the codec's client for a server at baseURL. o holds the HTTP
	// client and the timeouts to use.
	Open func(baseURL string, o wire.Endpoint) llm.Client

	// What answers cannot carry.

	NoRedactedThinking bool // no encrypted reasoning without text
	WholeCalls         bool // the arguments of a call arrive in one piece
	NoPause            bool // a paused turn arrives as one that has ended
	NoCacheWrite       bool // tokens written to a cache are counted as fresh input
	NoCacheTiers       bool // one kind of cache writes
	NoReasoningUsage   bool // reasoning is not counted apart
	NoResetTime        bool // the end of a usage limit is told as a time to wait, or not at all
	// NoErrorInStream are the kinds of errors that cannot be told apart once the
	// answer has begun.
	NoErrorInStream []llm.ErrorKind

	// What requests cannot carry.

	NoDocuments     bool // documents arrive as text
	NoToolImages    bool // images of a tool result follow it in a user message
	NoToolDocuments bool // documents too
	NoStop          bool // no stop sequences
	NoTemperature   bool // no temperature for Model
	NoToolNone      bool // calling tools cannot be forbidden
	NoSequential    bool // parallel calls cannot be forbidden
	NoToolErrors    bool // a failed tool result looks like any other
	NoOwnThinking   bool // reasoning is not returned to the provider

	// What the provider demands of a conversation.

	Alternation bool   // roles of the body's messages alternate, user first
	CallIDs     string // regular expression that call ids on the wire match; empty = any text
}

// The checks of the suite, by what they are about. Each has the whole rig.
type (
	answerChecks  struct{ rig } // what an answer says arrives
	requestChecks struct{ rig } // what a request says arrives
	historyChecks struct{ rig } // any history becomes a legal request
	faultChecks   struct{ rig } // refusals, errors, and damaged, cut and stalled answers
	serverChecks  struct{ rig } // the server half by itself
	flowChecks    struct{ rig } // memory, cancellation, and answers that are read slowly or not at all
)

// Run runs the whole suite. It must not run in parallel with other tests of the
// package, because it measures memory and looks for goroutines that stay.
func Run(t *testing.T, s Subject) {
	leaks := goleak.IgnoreCurrent()
	r := rig{&s}
	answers, requests, histories := answerChecks{r}, requestChecks{r}, historyChecks{r}
	faults, server, flow := faultChecks{r}, serverChecks{r}, flowChecks{r}

	// Figures first, while nothing else runs.
	t.Run("memory", flow.testMemory)
	t.Run("cancel", flow.testCancel)

	t.Run(s.Name, func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"text":        answers.testText,
			"thinking":    answers.testThinking,
			"interleaved": answers.testInterleaved,
			"calls":       answers.testCalls,
			"usage":       answers.testUsage,
			"stop":        answers.testStopReasons,
			"opaque":      answers.testForeignItems,
			"request":     requests.testRequest,
			"media":       requests.testMedia,
			"choice":      requests.testToolChoice,
			"levels":      requests.testLevels,
			"refusal":     faults.testRefusals,
			"error":       faults.testErrorsInStream,
			"damage":      faults.testDamage,
			"cut":         faults.testCuts,
			"flip":        faults.testFlips,
			"whole":       server.testWhole,
			"unreadable":  server.testUnreadable,
			"endpoint":    server.testEndpoint,
			"concurrent":  server.testConcurrent,
			"answers":     answers.testRandomAnswers,
			"split":       faults.testSplit,
			"stall":       faults.testStalls,
			"limit":       faults.testLimit,
			"close":       flow.testClose,
			"reuse":       flow.testReuse,
			"pressure":    flow.testBackPressure,
			"history":     histories.testHistories,
			"random":      histories.testRandomHistories,
			"prefix":      histories.testPrefix,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	goleak.VerifyNone(t, leaks)
}
