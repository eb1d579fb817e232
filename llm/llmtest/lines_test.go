package llmtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// lines is a format made for these tests: the request's body is one user
// message, the answer a line of JSON per event.
type lines struct{ path string }

func (f lines) API() llm.API               { return llm.API("lines" + f.path) }
func (f lines) Match(r *http.Request) bool { return r.URL.Path == f.path }

func (f lines) DecodeRequest(_ *http.Request, body []byte) (*llm.Request, bool, error) {
	if len(body) == 0 {
		return nil, false, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "nothing was asked"}
	}
	return &llm.Request{Model: &llm.Model{ID: "lines-1", API: f.API()}, Messages: []llm.Message{llm.UserText(string(body))}}, true, nil
}

func (f lines) NewEncoder(w http.ResponseWriter, _ *llm.Request, _ bool) wire.Encoder {
	return lineEncoder{w}
}

func (f lines) EncodeError(w http.ResponseWriter, err *llm.Error) {
	status := err.Status
	if status == 0 {
		status = http.StatusTeapot
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, err.Message)
}

type lineEncoder struct{ w http.ResponseWriter }

func (e lineEncoder) Encode(ev llm.Event) error {
	if _, err := fmt.Fprintln(e.w, describe(ev)); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// describe shows an event on one line.
func describe(ev llm.Event) string {
	line := fmt.Sprintf(`{"type":%q,"index":%d`, ev.Type, ev.Index)
	if ev.Delta != "" {
		line += fmt.Sprintf(`,"delta":%q`, ev.Delta)
	}
	m := ev.Message
	if ev.Block != nil {
		m = &llm.Message{Content: []llm.Block{ev.Block}}
	}
	if m != nil {
		content, err := json.Marshal(m)
		if err != nil {
			return err.Error()
		}
		var short struct {
			Content    json.RawMessage `json:"content"`
			ResponseID string          `json:"responseId"`
			StopReason llm.StopReason  `json:"stopReason"`
			Usage      *llm.Usage      `json:"usage"`
		}
		if err := json.Unmarshal(content, &short); err != nil {
			return err.Error()
		}
		if string(short.Content) != "[]" && !ev.Type.Terminal() {
			line += `,"block":` + string(short.Content[1:len(short.Content)-1])
		}
		if ev.Type.Terminal() {
			line += fmt.Sprintf(`,"blocks":%d,"stop":%q`, len(m.Content), short.StopReason)
		}
		if short.ResponseID != "" {
			line += fmt.Sprintf(`,"id":%q`, short.ResponseID)
		}
		if short.Usage != nil {
			line += fmt.Sprintf(`,"output":%d`, short.Usage.Output)
		}
		if m.Error != nil {
			line += fmt.Sprintf(`,"error":%q`, m.Error.Kind)
		}
	}
	return line + "}"
}
