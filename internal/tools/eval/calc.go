package eval

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Limits of a calculation. Beyond them it is refused.
const (
	maxExpression = 2000   // bytes
	maxBits       = 65_536 // of a whole number, or of a numerator or denominator
	maxFactorial  = 5000
	maxDepth      = 100
	maxDigits     = 400 // shown of a result
)

// Calculate gives the value of an expression as text. Whole numbers and fractions
// are exact; roots and the like have the precision of float64.
func Calculate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	text, err := translate(expression)
	if err != nil {
		return "", err
	}
	e, err := parser.ParseExpr(text)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %s", strings.TrimPrefix(firstLine(err), "1:"))
	}
	v, err := eval(e, 0)
	if err != nil {
		return "", err
	}
	return show(v), nil
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

var (
	percent = regexp.MustCompile(`(\d|\))\s*%\s*($|[*)+,/-])`)
	// mantissa is what stands before the sign of an exponent; of 0x1e it does not.
	mantissa = regexp.MustCompile(`(^|[^\w.])[\d._]*\d[\d._]*[eE]$`)
	zeros    = regexp.MustCompile(`(^|[^\w.])0[0_]*([0-9])`)
)

const (
	power = "**"
	whole = "//" // division, rounded down
)

// translate writes what people write in Go's grammar. ** becomes &^, an operator
// nobody needs here; it binds like * there, so [rebalance] sets it right. a // b
// becomes a / &b, because the address of a number has no other use. A number that
// begins with 0 is a decimal one, not Go's octal.
func translate(s string) (string, error) {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "/*") || strings.Contains(s, "///") || strings.Contains(s, "#") {
		return "", errors.New("cannot be read: leave out comments")
	}
	if strings.Contains(strings.ReplaceAll(s, "&&", ""), "/&") || strings.ContainsAny(s, "\r\n") {
		return "", errors.New("cannot be read: want one expression on one line")
	}
	for m := percent.FindStringSubmatchIndex(s); m != nil; m = percent.FindStringSubmatchIndex(s) {
		from, end := operand(s, m[3]), m[3]
		s = s[:from] + "(" + s[from:end] + "/100) " + s[m[4]:]
	}
	s = zeros.ReplaceAllString(s, "$1$2")
	s = strings.NewReplacer(whole, "/ &", power, "&^").Replace(s)
	// With spaces, so that no two of them become one of the above.
	return strings.NewReplacer("×", " * ", "·", " * ", "÷", " / ", "−", " - ", "π", "pi").Replace(s), nil
}

// operand is where the number, name, call or parenthesis begins that ends at end.
func operand(s string, end int) int {
	i, open := end, 0
	for i > 0 && (open > 0 || s[i-1] == ')' && i == end) {
		i--
		switch s[i] {
		case ')':
			open++
		case '(':
			open--
		}
	}
	for ; i > 0; i-- {
		c := s[i-1]
		inside := c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !inside && !((c == '-' || c == '+') && mantissa.MatchString(s[:i-1])) {
			break
		}
	}
	return i
}

func eval(e ast.Expr, depth int) (constant.Value, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.INT && e.Kind != token.FLOAT {
			return nil, fmt.Errorf("%s is not a number", e.Value)
		}
		if err := smallLiteral(e.Value); err != nil {
			return nil, err
		}
		return bounded(constant.MakeFromLiteral(e.Value, e.Kind, 0))
	case *ast.ParenExpr:
		return eval(e.X, depth+1)
	case *ast.Ident:
		return name(e.Name)
	case *ast.UnaryExpr:
		return unary(e, depth)
	case *ast.BinaryExpr:
		return binary(rebalance(e), depth)
	case *ast.CallExpr:
		return call(e, depth)
	}
	return nil, errors.New("only numbers, operators and functions can be calculated")
}

// smallLiteral refuses 1e999999999 before anybody makes it a number.
func smallLiteral(s string) error {
	lower := strings.ToLower(s)
	mark := "e"
	if strings.HasPrefix(lower, "0x") {
		mark = "p"
	}
	if _, exp, ok := strings.Cut(lower, mark); ok {
		if n, err := strconv.Atoi(strings.ReplaceAll(exp, "_", "")); err != nil || n > 10_000 || n < -10_000 {
			return fmt.Errorf("%s is beyond what can be calculated", s)
		}
	}
	return nil
}

func name(s string) (constant.Value, error) {
	switch s {
	case "pi":
		return constant.MakeFloat64(math.Pi), nil
	case "e":
		return constant.MakeFloat64(math.E), nil
	case "true", "false":
		return constant.MakeBool(s == "true"), nil
	}
	return nil, fmt.Errorf("%s is not known", s)
}

// rebalance gives powers their rank: above * and to the right. The parser made
// a*b**c into (a*b)**c and a**b**c into (a**b)**c; a parenthesis of the writer's is a
// node of its own and is left alone.
func rebalance(e *ast.BinaryExpr) *ast.BinaryExpr {
	left, ok := e.X.(*ast.BinaryExpr)
	if e.Op != token.AND_NOT || !ok || left.Op.Precedence() != e.Op.Precedence() {
		return e
	}
	if mark, ok := divisor(left); ok { // a // b**c: the mark belongs to the power
		inner := &ast.BinaryExpr{X: mark, Op: token.AND_NOT, Y: e.Y}
		return &ast.BinaryExpr{X: left.X, Op: left.Op, Y: &ast.UnaryExpr{Op: token.AND, X: inner}}
	}
	inner := &ast.BinaryExpr{X: left.Y, Op: token.AND_NOT, Y: e.Y}
	return &ast.BinaryExpr{X: left.X, Op: left.Op, Y: inner}
}

// divisor is b of a // b.
func divisor(e *ast.BinaryExpr) (ast.Expr, bool) {
	mark, ok := e.Y.(*ast.UnaryExpr)
	if !ok || e.Op != token.QUO || mark.Op != token.AND {
		return nil, false
	}
	return mark.X, true
}

func unary(e *ast.UnaryExpr, depth int) (constant.Value, error) {
	x, err := eval(e.X, depth+1)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Op == token.SUB || e.Op == token.ADD:
		if x.Kind() == constant.Bool {
			return nil, fmt.Errorf("%s wants a number", e.Op)
		}
	case e.Op == token.NOT:
		if x.Kind() != constant.Bool {
			return nil, errors.New("! wants true or false")
		}
	case e.Op == token.XOR:
		if x = constant.ToInt(x); x.Kind() != constant.Int {
			return nil, errors.New("^ wants a whole number")
		}
	default:
		return nil, fmt.Errorf("%s is not known here", e.Op)
	}
	return bounded(constant.UnaryOp(e.Op, x, 0))
}

func binary(e *ast.BinaryExpr, depth int) (constant.Value, error) {
	if d, ok := divisor(e); ok {
		v, err := binary(&ast.BinaryExpr{X: e.X, Op: token.QUO, Y: d}, depth)
		if err != nil {
			return nil, err
		}
		return floor(v), nil
	}
	// -2**2 is -4, as on paper: the sign is outside.
	if u, ok := e.X.(*ast.UnaryExpr); ok && e.Op == token.AND_NOT && u.Op == token.SUB {
		return unary(&ast.UnaryExpr{Op: token.SUB, X: &ast.BinaryExpr{X: u.X, Op: e.Op, Y: e.Y}}, depth)
	}
	x, err := eval(e.X, depth+1)
	if err != nil {
		return nil, err
	}
	y, err := eval(e.Y, depth+1)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case token.LAND, token.LOR:
		if x.Kind() != constant.Bool || y.Kind() != constant.Bool {
			return nil, fmt.Errorf("%s wants true or false", e.Op)
		}
		return constant.BinaryOp(x, e.Op, y), nil
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if (x.Kind() == constant.Bool) != (y.Kind() == constant.Bool) || x.Kind() == constant.Bool && e.Op != token.EQL && e.Op != token.NEQ {
			return nil, fmt.Errorf("%s wants two numbers", e.Op)
		}
		return constant.MakeBool(constant.Compare(x, e.Op, y)), nil
	}
	if x.Kind() == constant.Bool || y.Kind() == constant.Bool {
		return nil, fmt.Errorf("%s wants numbers", word(e.Op))
	}
	return arithmetic(x, e.Op, y)
}

func word(op token.Token) string {
	if op == token.AND_NOT {
		return power
	}
	return op.String()
}

func arithmetic(x constant.Value, op token.Token, y constant.Value) (constant.Value, error) {
	switch op {
	case token.ADD, token.SUB, token.MUL:
		return bounded(constant.BinaryOp(x, op, y))
	case token.QUO:
		if constant.Sign(y) == 0 {
			return nil, errors.New("division by zero")
		}
		return bounded(constant.BinaryOp(constant.ToFloat(x), op, constant.ToFloat(y)))
	case token.AND_NOT:
		return raise(x, y)
	}
	x, y = constant.ToInt(x), constant.ToInt(y)
	if x.Kind() != constant.Int || y.Kind() != constant.Int {
		return nil, fmt.Errorf("%s wants whole numbers", op)
	}
	switch op {
	case token.REM:
		if constant.Sign(y) == 0 {
			return nil, errors.New("division by zero")
		}
		return constant.BinaryOp(x, op, y), nil
	case token.AND, token.OR, token.XOR:
		return constant.BinaryOp(x, op, y), nil
	case token.SHL, token.SHR:
		n, ok := constant.Uint64Val(y)
		if !ok || n > maxBits {
			return nil, fmt.Errorf("%s wants a number of bits from 0 to %d", op, maxBits)
		}
		return bounded(constant.Shift(x, op, uint(n)))
	}
	return nil, fmt.Errorf("%s is not known here", op)
}

// raise is x to the power of y: exact for whole exponents.
func raise(x, y constant.Value) (constant.Value, error) {
	n, ok := constant.Int64Val(constant.ToInt(y))
	if constant.ToInt(y).Kind() != constant.Int || !ok {
		return float(math.Pow(number(x), number(y)))
	}
	if n < 0 {
		if constant.Sign(x) == 0 {
			return nil, errors.New("division by zero")
		}
		v, err := raise(x, constant.MakeInt64(-n))
		if err != nil {
			return nil, err
		}
		return bounded(constant.BinaryOp(constant.MakeInt64(1), token.QUO, constant.ToFloat(v)))
	}
	if float64(bits(x)-1)*float64(n) > maxBits {
		return nil, fmt.Errorf("the result is beyond %d bits", maxBits)
	}
	v := constant.MakeInt64(1)
	for base := x; n > 0; n >>= 1 {
		if n&1 == 1 {
			v = constant.BinaryOp(v, token.MUL, base)
		}
		if n > 1 {
			base = constant.BinaryOp(base, token.MUL, base)
		}
	}
	return bounded(v)
}

// bits is how long a number is.
func bits(v constant.Value) int {
	switch v.Kind() {
	case constant.Int:
		return constant.BitLen(v)
	case constant.Float:
		n, d := constant.Num(v), constant.Denom(v)
		if n.Kind() == constant.Int && d.Kind() == constant.Int {
			return max(constant.BitLen(n), constant.BitLen(d))
		}
	}
	return maxBits + 1
}

func bounded(v constant.Value) (constant.Value, error) {
	switch v.Kind() {
	case constant.Unknown:
		return nil, errors.New("it has no value")
	case constant.Bool:
		return v, nil
	}
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		v = whole
	}
	if bits(v) > maxBits {
		return nil, fmt.Errorf("the result is beyond %d bits", maxBits)
	}
	return v, nil
}

func number(v constant.Value) float64 {
	f, _ := constant.Float64Val(constant.ToFloat(v))
	return f
}

func float(f float64) (constant.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("it has no value")
	}
	return bounded(constant.MakeFloat64(f))
}

func call(e *ast.CallExpr, depth int) (constant.Value, error) {
	fn, ok := e.Fun.(*ast.Ident)
	if !ok || e.Ellipsis.IsValid() {
		return nil, errors.New("only functions by name can be called")
	}
	var args []constant.Value
	for _, a := range e.Args {
		v, err := eval(a, depth+1)
		if err != nil {
			return nil, err
		}
		if v.Kind() == constant.Bool {
			return nil, fmt.Errorf("%s wants numbers", fn.Name)
		}
		args = append(args, v)
	}
	if f, ok := functions()[fn.Name]; ok {
		if len(args) != 1 {
			return nil, fmt.Errorf("%s wants one number", fn.Name)
		}
		return f(args[0])
	}
	switch fn.Name {
	case "min", "max", "gcd":
		if len(args) == 0 {
			return nil, fmt.Errorf("%s wants a number or more", fn.Name)
		}
		best := args[0]
		for _, v := range args[1:] {
			var err error
			if best, err = fold(fn.Name, best, v); err != nil {
				return nil, err
			}
		}
		return best, nil
	case "pow":
		if len(args) != 2 {
			return nil, errors.New("pow wants two numbers")
		}
		return raise(args[0], args[1])
	}
	return nil, fmt.Errorf("unknown function %s", fn.Name)
}

func fold(name string, a, b constant.Value) (constant.Value, error) {
	switch {
	case name == "gcd":
		x, okA := constant.Val(constant.ToInt(a)).(*big.Int)
		y, okB := constant.Val(constant.ToInt(b)).(*big.Int)
		if !okA {
			n, exact := constant.Int64Val(constant.ToInt(a))
			x, okA = big.NewInt(n), exact
		}
		if !okB {
			n, exact := constant.Int64Val(constant.ToInt(b))
			y, okB = big.NewInt(n), exact
		}
		if !okA || !okB {
			return nil, errors.New("gcd wants whole numbers")
		}
		return constant.Make(new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))), nil
	case constant.Compare(b, token.LSS, a) == (name == "min"):
		return b, nil
	}
	return a, nil
}

type function func(constant.Value) (constant.Value, error)

// functions are those of one number.
func functions() map[string]function {
	of := func(f func(float64) float64) function {
		return func(v constant.Value) (constant.Value, error) { return float(f(number(v))) }
	}
	return map[string]function{
		"sqrt": squareRoot, "exp": of(math.Exp), "log": of(math.Log), "ln": of(math.Log), "log2": of(math.Log2), "log10": of(math.Log10),
		"sin": of(math.Sin), "cos": of(math.Cos), "tan": of(math.Tan), "asin": of(math.Asin), "acos": of(math.Acos), "atan": of(math.Atan),
		"abs": func(v constant.Value) (constant.Value, error) {
			if constant.Sign(v) < 0 {
				return constant.UnaryOp(token.SUB, v, 0), nil
			}
			return v, nil
		},
		"floor": func(v constant.Value) (constant.Value, error) { return floor(v), nil },
		"ceil": func(v constant.Value) (constant.Value, error) {
			return constant.UnaryOp(token.SUB, floor(constant.UnaryOp(token.SUB, v, 0)), 0), nil
		},
		"round": func(v constant.Value) (constant.Value, error) { // half away from zero
			half := constant.BinaryOp(constant.MakeInt64(1), token.QUO, constant.ToFloat(constant.MakeInt64(2)))
			if constant.Sign(v) < 0 {
				return constant.UnaryOp(token.SUB, floor(constant.BinaryOp(half, token.SUB, v)), 0), nil
			}
			return floor(constant.BinaryOp(v, token.ADD, half)), nil
		},
		"factorial": factorial,
	}
}

// squareRoot is exact for squares.
func squareRoot(v constant.Value) (constant.Value, error) {
	if n, ok := constant.Int64Val(constant.ToInt(v)); ok && n >= 0 {
		if r := int64(math.Sqrt(float64(n))); r*r == n {
			return constant.MakeInt64(r), nil
		}
	}
	return float(math.Sqrt(number(v)))
}

func floor(v constant.Value) constant.Value {
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		return whole
	}
	f := constant.ToFloat(v)
	n, d := constant.Num(f), constant.Denom(f)
	q := constant.BinaryOp(n, token.QUO_ASSIGN, d) // whole division, towards zero
	if constant.Sign(v) < 0 {
		q = constant.BinaryOp(q, token.SUB, constant.MakeInt64(1))
	}
	return q
}

func factorial(v constant.Value) (constant.Value, error) {
	n, ok := constant.Int64Val(constant.ToInt(v))
	if constant.ToInt(v).Kind() != constant.Int || !ok || n < 0 || n > maxFactorial {
		return nil, fmt.Errorf("factorial wants a whole number from 0 to %d", maxFactorial)
	}
	return constant.Make(new(big.Int).MulRange(1, n)), nil
}

// show writes a value: whole numbers with all digits, fractions with 15
// significant ones, or fewer if that is all there is.
func show(v constant.Value) string {
	if v.Kind() == constant.Bool {
		return v.String()
	}
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		s := whole.ExactString()
		if len(s) > maxDigits {
			return fmt.Sprintf("%s… (%d digits)", s[:40], len(strings.TrimPrefix(s, "-")))
		}
		return s
	}
	f := number(v)
	if f == 0 || math.IsInf(f, 0) {
		return v.String()
	}
	return strconv.FormatFloat(mustParse(strconv.FormatFloat(f, 'g', 15, 64)), 'g', -1, 64)
}

func mustParse(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64) // it was just formatted
	return f
}
