package edit

import (
	"slices"
	"strings"
)

// parsePatch reads a patch in either language. What stands around it (a shell
// command, a code fence, the message of a commit) is passed over.
func parsePatch(text string) ([]section, error) {
	lines := patchLines(text)
	begin := slices.IndexFunc(lines, func(l string) bool { return isDirective(l, "*** Begin Patch") })
	if begin >= 0 {
		end := slices.IndexFunc(lines[begin:], func(l string) bool { return isDirective(l, "*** End Patch") })
		if end < 0 {
			return nil, refuse("", "the patch has no line *** End Patch: it may have been cut").hint("Send all of it.")
		}
		return parseApplyPatch(lines[begin+1 : begin+end])
	}
	first := slices.IndexFunc(lines, func(l string) bool {
		_, _, ok := sectionHeader(l)
		return ok || strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "@@")
	})
	if first < 0 {
		return nil, refuse("", "this text contains no patch").
			hint("A patch goes from *** Begin Patch to *** End Patch, or is a unified diff.")
	}
	if _, _, ok := sectionHeader(lines[first]); ok {
		lines = lines[first:]
		if end := slices.IndexFunc(lines, func(l string) bool { return isDirective(l, "*** End Patch") }); end >= 0 {
			lines = lines[:end]
		}
		return parseApplyPatch(lines)
	}
	return parseUnified(lines)
}

// patchLines splits a patch. If all its lines end in CR LF that is how it was sent,
// and no fact about the files.
func patchLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, l := range lines {
		if !strings.HasSuffix(l, "\r") && l != "" {
			return lines
		}
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// isDirective says that a line is a directive without a value. A line of a hunk is
// none: it has a sign in front.
func isDirective(line, name string) bool { return strings.TrimRight(line, " \t\r") == name }

// sectionHeader reads a line that begins a section.
func sectionHeader(line string) (operation, string, bool) {
	for op, prefix := range [...]string{opUpdate: "*** Update File:", opAdd: "*** Add File:", opDelete: "*** Delete File:"} {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			return operation(op), strings.TrimSpace(name), true
		}
	}
	return 0, "", false
}

// parseApplyPatch reads what stands between *** Begin Patch and *** End Patch.
func parseApplyPatch(lines []string) ([]section, error) {
	var out []section
	for i := 0; i < len(lines); {
		op, name, ok := sectionHeader(lines[i])
		if !ok {
			if s := strings.TrimSpace(lines[i]); s != "" && !strings.HasPrefix(s, "*** Environment ID:") {
				return nil, refuse("", "the patch has %q where a section should begin", clip(s, 80)).
					hint("Sections begin with *** Update File: , *** Add File: or *** Delete File: .")
			}
			i++
			continue
		}
		i++
		n := i
		for n < len(lines) {
			if _, _, next := sectionHeader(lines[n]); next {
				break
			}
			n++
		}
		s := section{op: op, path: name}
		var err error
		switch op {
		case opAdd:
			s.hunks, err = addedLines(name, lines[i:n])
		case opDelete:
			if rest := strings.TrimSpace(strings.Join(lines[i:n], "")); rest != "" {
				err = refuse(name, "the patch has text after *** Delete File: %q", clip(rest, 80))
			}
		default:
			err = s.readHunks(lines[i:n])
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		i = n
	}
	if len(out) == 0 {
		return nil, refuse("", "the patch is empty")
	}
	return out, nil
}

// addedLines reads the lines of a new file.
func addedLines(name string, lines []string) ([]hunk, error) {
	var h hunk
	gap := 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			for ; gap > 0; gap-- {
				h.lines = append(h.lines, patchLine{op: '+'})
			}
			text, cr := strings.CutSuffix(l[1:], "\r")
			h.lines = append(h.lines, patchLine{op: '+', text: text, cr: cr})
		case strings.TrimSpace(l) == "":
			gap++ // an empty line of the file if more follow
		case strings.HasPrefix(l, "*** End of File"):
		case strings.HasPrefix(l, `\ `) && len(h.lines) > 0:
			h.lines[len(h.lines)-1].open = true
		default:
			return nil, refuse(name, "the patch adds this file, and has %q without + in front", clip(l, 80)).
				hint("Every line of a new file begins with +.")
		}
	}
	return []hunk{h}, nil
}

// readHunks reads the lines of an Update File section.
func (s *section) readHunks(lines []string) error {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) > 0 {
		if to, ok := strings.CutPrefix(lines[0], "*** Move to:"); ok {
			s.to, lines = strings.TrimSpace(to), lines[1:]
			if s.to == "" {
				return refuse(s.path, "the patch moves this file to an empty path")
			}
		}
	}
	if len(lines) > 1 && strings.HasPrefix(lines[0], "--- ") && strings.HasPrefix(lines[1], "+++ ") {
		lines = lines[2:] // the header of a unified diff in addition
	}
	var h hunk
	flush := func() {
		if len(h.lines) > 0 {
			s.hunks = append(s.hunks, h)
			h = hunk{}
		}
	}
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "@@"):
			flush()
			line, header := hunkHeader(l)
			h.line = max(h.line, line)
			if header != "" {
				h.headers = append(h.headers, header)
			}
		case isDirective(l, "*** End of File"):
			h.atEnd = true
			flush()
		case strings.HasPrefix(l, "*** "):
			return refuse(s.path, "unknown patch directive %q", clip(l, 80))
		default:
			h.add(l)
		}
	}
	if len(h.lines) == 0 && (len(h.headers) > 0 || h.line > 0) {
		return refuse(s.path, "the last hunk has no lines").hint("Send all of the patch.")
	}
	flush()
	s.hunks = slices.DeleteFunc(s.hunks, hunk.empty)
	return nil
}

// empty says that a hunk has only gaps.
func (h hunk) empty() bool {
	return !slices.ContainsFunc(h.lines, func(l patchLine) bool { return !l.bare })
}

// add reads a line of a hunk. One that begins with none of the signs is taken as
// context whose space was forgotten; [placing.slipped] decides whether that can be.
func (h *hunk) add(l string) {
	text, cr := strings.CutSuffix(l, "\r")
	switch {
	case text == "":
		h.lines = append(h.lines, patchLine{op: ' ', cr: cr, bare: true})
	case text[0] == ' ' || text[0] == '-' || text[0] == '+':
		h.lines = append(h.lines, patchLine{op: text[0], text: text[1:], cr: cr})
	case strings.HasPrefix(text, `\ `):
		if n := len(h.lines); n > 0 {
			h.lines[n-1].open = true
			h.atEnd = true
		}
	default:
		h.lines = append(h.lines, patchLine{op: ' ', text: text, cr: cr, unsigned: true})
	}
}

// hunkHeader reads a line that begins with @@: the number of the old file's line,
// 0 if there is none, and the line that encloses the hunk.
func hunkHeader(l string) (line int, header string) {
	rest := strings.TrimSpace(strings.TrimPrefix(l, "@@"))
	if r, ok := parseRanges(rest); ok {
		return r.oldLine, r.header
	}
	return 0, strings.TrimSpace(strings.TrimSuffix(rest, "@@"))
}
