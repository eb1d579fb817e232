package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/mode/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server has the tools wait, which ends with its context, and say, which tells what it got.
func server(began chan<- struct{}) *mcp.Server {
	object := json.RawMessage(`{"type":"object"}`)
	return &mcp.Server{Version: "1", Tools: []mcp.Tool{
		{Name: "wait", Schema: object, Run: func(ctx context.Context, _ json.RawMessage, _ func(string)) (mcp.Result, error) {
			began <- struct{}{}
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		}},
		{Name: "say", Schema: object, Run: func(_ context.Context, args json.RawMessage, tell func(string)) (mcp.Result, error) {
			tell("one")
			tell("two")
			return mcp.Result{Text: string(args)}, nil
		}},
	}}
}

// A client has so many calls at a time, may cancel them, and gets progress if it wants it.
func TestCalls(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 100)
	in, out := io.Pipe()
	answers, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server(began).Serve(t.Context(), in, write) }()
	lines := bufio.NewScanner(answers)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("%s, want %s", lines.Text(), want)
		}
	}
	call := func(id int, tool, meta string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"a":1}%s}}`+"\n", id, tool, meta)
	}
	for i := range 16 {
		call(i, "wait", "")
		<-began
	}
	call(16, "say", "")
	next(`"id":16,"error":{"code":-32000,"message":"at most 16 requests at a time`)
	fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	// Its place is free once it has ended, and nothing tells when.
	for id, free := 17, false; !free; id++ {
		call(id, "say", "")
		if !lines.Scan() {
			t.Fatal("the server ended")
		}
		free = !strings.Contains(lines.Text(), "-32000")
	}
	if !strings.Contains(lines.Text(), `"text":"{\"a\":1}"`) {
		t.Errorf("%s", lines.Text())
	}
	call(1000, "say", `,"_meta":{"progressToken":"p"}`)
	next(`"method":"notifications/progress","params":{"message":"one","progress":1,"progressToken":"p"}`)
	next(`"message":"two","progress":2`)
	next(`"id":1000,"result"`)
	out.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Whatever a client sends, each line that it gets is a message.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` + "\n" + `{"id":2,"method":"tools/list"}`))
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"name":"say","_meta":{"progressToken":[1]}}}` + "\n" + `{"id":null}` + "\n" + `[]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		if err := server(make(chan struct{}, 100)).Serve(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Error(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				Version string `json:"jsonrpc"`
			}
			if json.Unmarshal(line, &m) != nil || m.Version != "2.0" {
				t.Errorf("%s is no message", line)
			}
		}
	})
}
