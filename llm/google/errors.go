package google

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// classify sorts a refused request. Google says "you exceeded your current
// quota" of the tokens of a minute as of those of a day; only the id of the
// violated quota tells whether waiting helps.
func classify(status int, header http.Header, body []byte) *llm.Error {
	e := wire.Classify(status, header, body)
	if e.Kind != llm.ErrUsageLimit || status != http.StatusTooManyRequests {
		return e
	}
	var b errorBody
	if json.Unmarshal(body, &b) != nil {
		var list []errorBody
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return e
		}
		b = list[0]
	}
	short := false
	for _, d := range b.Error.Details {
		short = short || d.RetryDelay != ""
		for _, v := range d.Violations {
			if strings.Contains(v.QuotaID, "PerDay") {
				return e
			}
			short = short || strings.Contains(v.QuotaID, "PerMinute")
		}
	}
	if short {
		e.Kind = llm.ErrRateLimit
	}
	return e
}

// streamError sorts an error object inside a stream, which is built like the
// body of a refused request; frame is the whole of the frame it came in.
func streamError(frame []byte) *llm.Error {
	var b struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(frame, &b) // without a code it is sorted by its words
	return classify(b.Error.Code, http.Header{}, frame)
}

// listError sorts a list of error objects, the form without alt=sse that some
// hosts fall back to when a stream fails.
func listError(frame []byte) error {
	var list []errorBody
	if err := json.Unmarshal(frame, &list); err != nil {
		return malformed(err)
	}
	if len(list) == 0 {
		return malformed(errors.New("an empty list"))
	}
	return classify(list[0].Error.Code, http.Header{}, frame)
}

// finishKinds says what went wrong for each reason that is neither a proper
// end nor the length. An invalid call is the model's slip: asked again it
// usually does better, so it counts as a stream that made no sense.
var finishKinds = map[string]struct {
	kind llm.ErrorKind
	text string
}{
	"SAFETY":                   {llm.ErrContentFilter, "the answer was stopped by the safety filter"},
	"PROHIBITED_CONTENT":       {llm.ErrContentFilter, "the answer was stopped because it may hold prohibited content"},
	"BLOCKLIST":                {llm.ErrContentFilter, "the answer was stopped because it holds blocked terms"},
	"SPII":                     {llm.ErrContentFilter, "the answer was stopped because it may hold personal data"},
	"RECITATION":               {llm.ErrContentFilter, "the answer was stopped because it recited a source"},
	"LANGUAGE":                 {llm.ErrContentFilter, "the answer was stopped because its language is not supported"},
	"MODEL_ARMOR":              {llm.ErrContentFilter, "the answer was stopped by Model Armor"},
	"IMAGE_SAFETY":             {llm.ErrContentFilter, "the image was stopped by the safety filter"},
	"IMAGE_PROHIBITED_CONTENT": {llm.ErrContentFilter, "the image was stopped because it may hold prohibited content"},
	"IMAGE_RECITATION":         {llm.ErrContentFilter, "the image was stopped because it resembles a source"},
	"MALFORMED_FUNCTION_CALL":  {llm.ErrTransport, "the model wrote a call that cannot be read"},
	"UNEXPECTED_TOOL_CALL":     {llm.ErrTransport, "the model called a tool that was not offered"},
	"TOO_MANY_TOOL_CALLS":      {llm.ErrTransport, "the model called too many tools in a row"},
	"MALFORMED_RESPONSE":       {llm.ErrTransport, "the model wrote an answer that cannot be read"},
	"MISSING_THOUGHT_SIGNATURE": {
		llm.ErrInvalidRequest,
		"the history lacks a signature the model wants back",
	},
	"OTHER":       {llm.ErrOverload, "the vendor stopped the answer without saying why"},
	"NO_IMAGE":    {llm.ErrOverload, "no image was made"},
	"IMAGE_OTHER": {llm.ErrOverload, "the image was stopped without a reason"},
}

// finishError is the error of a finish reason that is neither STOP nor
// MAX_TOKENS. An unknown reason is an error too: what it cut is unknown.
func finishError(reason, message string) *llm.Error {
	known, ok := finishKinds[reason]
	if !ok {
		known.kind, known.text = llm.ErrOverload, "the answer was stopped for the reason "+reason
	}
	text := known.text
	// The provider's remark on a malformed call quotes the call.
	if message != "" && known.kind != llm.ErrTransport {
		text += ": " + message
	}
	e := wire.Sort(0, reason, text) // makes the message one line of bounded length
	e.Kind = known.kind
	return e
}

func blockedError(f *promptFeedback) *llm.Error {
	text := "the prompt was refused (" + f.BlockReason + ")"
	if f.BlockReasonMessage != "" {
		text += ": " + f.BlockReasonMessage
	}
	e := wire.Sort(0, f.BlockReason, text)
	e.Kind = llm.ErrContentFilter
	return e
}
