package compact

import "strings"

// HandoffPrompt asks the model of the session itself, behind its whole conversation,
// for the document with which a new session begins. focus is what the user wants
// to continue with; it may be empty.
func HandoffPrompt(focus string) string {
	words := strings.TrimSpace(handoffWords)
	if f := strings.TrimSpace(focus); f != "" {
		words += "\n\nThe next session is about this; put what matters for it first: " + f
	}
	return words
}

// Handoff wraps a document as the first message of the new session.
func Handoff(document string) string {
	return "An earlier session ended here and left this document. What it says was done is done; go on from its next steps, " +
		"and look at files again before you change them.\n\n<handoff>\n" +
		strings.ReplaceAll(strings.TrimSpace(document), "</handoff", "&lt;/handoff") + "\n</handoff>"
}
