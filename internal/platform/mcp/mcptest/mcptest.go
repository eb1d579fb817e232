// Package mcptest has a server of the Model Context Protocol for tests, made with the official
// SDK: as a program over standard input and output, and over both kinds of HTTP.
package mcptest

//lint:file-ignore SA1019 servers sample and log as long as clients speak the versions that have it

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Marker is the first argument of a test program that is to be a server: see [Main].
const Marker = "mcptest-server"

// Main is a server over standard input and output if the process was started as one, and then
// does not return. The argument after the marker is the number of further tools, and the next ones are
// "asking" for the tools of [Asking], and "older" for a server that speaks no version without a handshake.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != Marker {
		return
	}
	more := 0
	if len(os.Args) > 2 {
		fmt.Sscan(os.Args[2], &more) //nolint:errcheck // 0 is right for everything else
	}
	fmt.Println("this line is no message") // as some programs do
	fmt.Fprintln(os.Stderr, "a word of the server")
	var versions []string
	if slices.Contains(os.Args, "older") {
		versions = Older()
	}
	s := New(more, versions...)
	if slices.Contains(os.Args, "asking") {
		Asking(s)
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// words are the arguments of most tools.
type words struct {
	Text string `json:"text,omitempty" jsonschema:"any text"`
}

// propose proposes birds for who and for the name in a template, and ways for how, which depend on who.
func propose(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{"herons", "hens", "storks"}
	if r.Params.Argument.Name == "how" {
		who := ""
		if r.Params.Context != nil {
			who = r.Params.Context.Arguments["who"]
		}
		values = []string{"as kindly as " + who, "badly"}
	}
	var fit []string
	for _, v := range values {
		if strings.HasPrefix(v, r.Params.Argument.Value) {
			fit = append(fit, v)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: fit}}, nil
}

// draw makes a small picture.
func draw() ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)))
	return b.Bytes(), err
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Older are the versions of the protocol in which a connection begins with a handshake.
func Older() []string { return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} }

// Newest is the version in which each request says what it speaks.
const Newest = "2026-07-28"

// New makes a server that speaks these versions of the protocol; none are all. Its tools are echo, which is
// read-only, environment, picture, fail, grow (which adds the tool grown), stop and so many others.
func New(more int, versions ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, &mcp.ServerOptions{CompletionHandler: propose, SupportedProtocolVersions: versions})
	type handler = func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error)
	add := func(name, description string, reads bool, h handler) {
		t := &mcp.Tool{Name: name, Description: description}
		if reads {
			t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		}
		mcp.AddTool(s, t, h)
	}
	add("echo", "Says a text again.", true, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		return say("echo: " + in.Text), nil, nil
	})
	add("environment", "Names the variables of the server.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		return say(strings.Join(os.Environ(), "\n")), nil, nil
	})
	add("picture", "Draws.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		drawn, err := draw()
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: drawn},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://one", Text: "inside"}},
			&mcp.ResourceLink{URI: "test://two", Name: "two"},
		}}, nil, nil
	})
	add("fail", "Fails.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it failed as it should")
	})
	add("grow", "Adds a tool.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		add("grown", "Was added.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
			return say("grown"), nil, nil
		})
		return say("done"), nil, nil
	})
	add("stop", "Ends the server.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	add("hang", "Does not answer until it is canceled.", false, func(ctx context.Context, _ *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		switch _, name, _ := strings.Cut(r.Params.URI, "of/"); name {
		case "lost":
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		case "picture":
			drawn, err := draw()
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: drawn}}}, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "about " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "test://one", Name: "one", Description: "The first."}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://of/{name}", Name: "others"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := fmt.Sprintf("Greet %s (%s).", r.Params.Arguments["who"], r.Params.Arguments["how"])
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
		})
	for i := range more {
		add(fmt.Sprintf("other_%03d", i), fmt.Sprintf("Does thing number %d with a text.", i), false, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
			return say(fmt.Sprintf("thing %d: %s", i, in.Text)), nil, nil
		})
	}
	return s
}

// HTTP serves a server at /mcp, and over the older kind of HTTP at /sse; at /new one that speaks the newest
// version only. With those of [Asking] they are at /asking and /newasking. With a token, requests need it.
func HTTP(more int, token string) http.Handler {
	s := New(more)
	get := func(*http.Request) *mcp.Server { return s }
	mux := http.NewServeMux()
	asking := New(more)
	Asking(asking)
	mux.Handle("/asking", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return asking }, nil))
	for path, s := range map[string]*mcp.Server{"/new": New(more, Newest), "/newasking": New(more, Newest)} {
		if path == "/newasking" {
			Asking(s)
		}
		mux.Handle(path, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	}
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Form is what the tool fill has a person fill in.
const Form = `{"type": "object", "required": ["name"], "properties": {
	"name": {"type": "string", "title": "Name", "minLength": 2},
	"age": {"type": "integer", "minimum": 0, "default": 30},
	"color": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}], "default": "#0f0"},
	"days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"], "type": "string"}, "maxItems": 2},
	"sure": {"type": "boolean", "default": true}}}`

// Page is the page that the tool open wants opened.
const Page = "https://pages.example.com/connect?to=calendar"

// Asking adds tools that want something of the client while they run: fill a form, sample a model, open a page,
// steps (which tells its progress ten times), note (which logs), and abandon, which takes back a question.
func Asking(s *mcp.Server) {
	type handler = func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error)
	add := func(name string, h handler) { mcp.AddTool(s, &mcp.Tool{Name: name}, h) }
	// ask wants something in the result of a call in the newest version, whose client calls again with the answer.
	ask := func(r *mcp.CallToolRequest, what mcp.InputRequest) (mcp.InputResponse, *mcp.CallToolResult, error) {
		if answer := r.Params.InputResponses["it"]; answer != nil {
			if r.Params.RequestState != "a state" {
				return nil, nil, fmt.Errorf("the state is %q", r.Params.RequestState)
			}
			return answer, nil, nil
		}
		return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"it": what}, RequestState: "a state"}, nil
	}
	add("fill", func(ctx context.Context, r *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		form := &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(Form)}
		var a *mcp.ElicitResult
		var err error
		if r.ProtocolVersion() < Newest {
			a, err = r.Session.Elicit(ctx, form)
		} else {
			if can := r.ClientCapabilities().Elicitation; can == nil {
				return say("nobody can answer"), nil, nil
			}
			answer, again, wrong := ask(r, form)
			if again != nil || wrong != nil {
				return again, nil, wrong
			}
			a = answer.(*mcp.ElicitResult)
		}
		if err != nil {
			return nil, nil, err
		}
		text, err := json.Marshal(a.Content)
		return say(a.Action + " " + string(text)), nil, err
	})
	add("sample", func(ctx context.Context, r *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		question := &mcp.CreateMessageParams{
			MaxTokens: 100, SystemPrompt: "Be brief.", Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Text}}},
		}
		if r.ProtocolVersion() >= Newest {
			if r.ClientCapabilities().Sampling == nil {
				return nil, nil, fmt.Errorf("the client does not support sampling")
			}
			answer, again, err := ask(r, question)
			if again != nil || err != nil {
				return again, nil, err
			}
			a := answer.(*mcp.CreateMessageWithToolsResult)
			return say(a.Model + " says " + a.Content[0].(*mcp.TextContent).Text), nil, nil
		}
		a, err := r.Session.CreateMessage(ctx, question)
		if err != nil {
			return nil, nil, err
		}
		return say(a.Model + " says " + a.Content.(*mcp.TextContent).Text), nil, nil
	})
	add("open", func(ctx context.Context, r *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		page := &mcp.ElicitParams{Mode: "url", Message: "Connect your calendar.", URL: Page, ElicitationID: "a page"}
		if r.ProtocolVersion() >= Newest {
			answer, again, err := ask(r, page)
			if again != nil || err != nil {
				return again, nil, err
			}
			return say("page: " + answer.(*mcp.ElicitResult).Action), nil, nil
		}
		a, err := r.Session.Elicit(ctx, page)
		if err != nil {
			return nil, nil, err
		}
		return say("page: " + a.Action), nil, nil
	})
	var visited atomic.Int32
	add("connect", func(_ context.Context, r *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		if r.ProtocolVersion() < Newest && visited.Add(1)%2 == 1 {
			return nil, nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Connect your calendar.", URL: Page, ElicitationID: "another page"}})
		}
		return say("connected"), nil, nil
	})
	add("steps", func(ctx context.Context, r *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		for i := range 10 {
			p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 10, Message: "step"}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
			wait := time.NewTimer(60 * time.Millisecond)
			select {
			case <-wait.C:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		return say("done"), nil, nil
	})
	add("note", func(ctx context.Context, r *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		for range 150 {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "notes", Data: "said " + in.Text}); err != nil {
				return nil, nil, err
			}
		}
		return say("done"), nil, nil
	})
	add("abandon", func(ctx context.Context, r *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		defer stop()
		_, err := r.Session.Elicit(short, &mcp.ElicitParams{Message: "Still there?", RequestedSchema: json.RawMessage(Form)})
		return say(fmt.Sprint("gave up: ", err != nil)), nil, nil
	})
}
