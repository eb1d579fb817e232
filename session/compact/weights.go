package compact

import _ "embed" // the tables

// A table holds, for a byte of class c behind one of class p, at p<<7|c what it
// adds, in 1/80 token. They are a least-squares fit, without negative weights, of the
// counts of the tokenizer they are named after, for some 3,500 pieces of source code,
// diffs, JSON, logs, hex, base64, Markdown and prose in ten languages. Texts of a few
// kilobytes come out within 10 % as a rule; short ones with unusual words, narrative
// Russian and Chinese above all, by up to 20 %. Mean is the mean of both.
var (
	//go:embed weights/cl100k.bin
	cl100kTable []byte
	//go:embed weights/o200k.bin
	o200kTable []byte
	//go:embed weights/mean.bin
	meanTable []byte
)

// classes of bytes: 0 to 25 lower-case letters, 26 and 27 capital vowels and
// consonants, 28 digits, 29 to 32 space, line end, tab and underscore, 33 to 42
// punctuation, 43 control characters, 44 to 75 continuation bytes in pairs, then first
// bytes of characters by script, Han and Hangul for each byte.
var classes = [256]uint8{
	42, 42, 42, 42, 42, 42, 42, 42, 42, 31, 30, 42, 42, 30, 42, 42,
	42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
	29, 38, 35, 41, 38, 38, 38, 35, 33, 34, 41, 38, 37, 41, 36, 39,
	28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 37, 37, 40, 41, 40, 38,
	38, 26, 27, 27, 27, 26, 27, 27, 27, 26, 27, 27, 27, 27, 27, 26,
	27, 27, 27, 27, 27, 26, 27, 27, 27, 27, 27, 33, 38, 34, 38, 32,
	35, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 33, 38, 34, 41, 42,
	43, 43, 44, 44, 45, 45, 46, 46, 47, 47, 48, 48, 49, 49, 50, 50,
	51, 51, 52, 52, 53, 53, 54, 54, 55, 55, 56, 56, 57, 57, 58, 58,
	59, 59, 60, 60, 61, 61, 62, 62, 63, 63, 64, 64, 65, 65, 66, 66,
	67, 67, 68, 68, 69, 69, 70, 70, 71, 71, 72, 72, 73, 73, 74, 74,
	75, 75, 75, 76, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 78, 78,
	79, 80, 81, 81, 81, 82, 82, 82, 83, 84, 85, 85, 85, 85, 85, 85,
	86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 100,
	101, 102, 102, 102, 102, 103, 103, 103, 103, 103, 103, 103, 103, 103, 103, 103,
}
