package openai

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Ids of this API. A function call has two: call_id, which its output answers,
// and the id of the item, which ties it to the reasoning before it. A tool
// call's id in a history is both, "call_id|item_id".

// respMaxID is the length limit of ids and cache keys, in bytes.
const respMaxID = 64

// respMade begins what follows the prefix of an item id that the server half
// made up. Such an id says nothing and is not worth returning.
const respMade = "made_"

// respJoinID makes a tool call's id. An item id that only repeats the call's is
// left out.
func respJoinID(call, item string) string {
	if call == "" {
		return item
	}
	if item == "" || item == "fc_"+call || item == "ctc_"+call {
		return call
	}
	return call + "|" + item
}

// respSplitID undoes respJoinID.
func respSplitID(id string) (call, item string) {
	call, item, _ = strings.Cut(id, "|")
	return call, item
}

// respNewID is a call id for servers that send none.
func respNewID() string { return "call_" + rand.Text()[:20] }

// respIDs makes the tool call ids of one history legal for this API, whichever
// provider they come from. The same history always gives the same ids.
type respIDs struct {
	owner map[string]string // legal call id -> the id it was made from
}

// legal keeps what the API accepts. Distinct ids stay distinct in their call
// part, because outputs refer to nothing else.
func (r *respIDs) legal(id string) string {
	call, item := respSplitID(id)
	if call == "" {
		return ""
	}
	call = respShort(respSafe(call))
	if owner, taken := r.owner[call]; taken && owner != id {
		call = "call_" + respSum(id)
	}
	if r.owner == nil {
		r.owner = map[string]string{}
	}
	r.owner[call] = id
	if !respItemID(item, "fc_") {
		item = ""
	}
	return respJoinID(call, item)
}

// respItemID reports whether an item id is one the API would take back.
func respItemID(id, prefix string) bool {
	return strings.HasPrefix(id, prefix) && len(id) <= respMaxID && respSafe(id) == id && !strings.HasPrefix(id, prefix+respMade)
}

func respSafe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// respShort cuts s to the limit, keeping it distinct from others cut likewise.
func respShort(s string) string {
	if len(s) <= respMaxID {
		return s
	}
	return s[:respMaxID-17] + "_" + respSum(s)
}

// respSum is 16 hexadecimal digits that stand for s.
func respSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// respTextID is the signature of a text: the id of its message item and the
// phase of the answer it belongs to. Where there is no phase the signature is
// the id itself, else an object in the form other programs of the family use.
type respTextID struct {
	V     int    `json:"v"`
	ID    string `json:"id"`
	Phase string `json:"phase,omitempty"`
}

func (t respTextID) signature() string {
	if t.Phase == "" {
		return t.ID
	}
	t.V = 1
	raw, err := json.Marshal(t)
	if err != nil {
		return t.ID
	}
	return string(raw)
}

func respReadTextID(signature string) respTextID {
	if !strings.HasPrefix(signature, "{") {
		return respTextID{ID: signature}
	}
	var t respTextID
	if json.Unmarshal([]byte(signature), &t) != nil {
		return respTextID{}
	}
	return t
}

// Signatures of other providers travel inside a reasoning item of this API as its
// encrypted content, marked so that they are found again when it comes back.
const (
	respForeign  = "signature:"
	respRedacted = "redacted:"
)

// respThinking reads a reasoning item as a server gets it back.
func respThinking(it *respItem, raw json.RawMessage) llm.Thinking {
	t := llm.Thinking{Text: respSummary(it)}
	if s, ok := strings.CutPrefix(it.Encrypted, respForeign); ok {
		t.Signature = s
		return t
	}
	if s, ok := strings.CutPrefix(it.Encrypted, respRedacted); ok {
		return llm.Thinking{Signature: s, Redacted: true}
	}
	t.Signature = string(raw)
	return t
}

// respReasoningSignature is what proves reasoning to a server: the whole item.
// Of an item that our server half made it is the one inside, or nothing where it
// was made for reasoning without a signature.
func respReasoningSignature(item *respItem, raw json.RawMessage) string {
	if item.Encrypted == "" && strings.HasPrefix(item.ID, "rs_"+respMade) {
		return ""
	}
	if inner, ok := strings.CutPrefix(item.Encrypted, respForeign); ok && respSealed(inner) {
		return inner
	}
	return string(raw)
}

// respSummary is the text of a reasoning item, parts separated by a blank line.
func respSummary(it *respItem) string {
	parts := it.Summary
	if len(parts) == 0 {
		parts = it.parts(it.Content)
	}
	texts := make([]string, 0, len(parts))
	for i := range parts {
		texts = append(texts, parts[i].text())
	}
	return strings.Join(texts, "\n\n")
}
