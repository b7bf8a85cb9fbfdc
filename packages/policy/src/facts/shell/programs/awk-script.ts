/** Words that reach files, programs or the environment, wherever they stand outside of strings and comments. */
const REACHING = /^(?:system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|extension)$/;
const REACHING_ANYWHERE =
  /[|>@]|system|getline|close|fflush|ENVIRON|PROCINFO|ARG[VC]|SYMTAB|FUNCTAB|extension/;
/** Signs and words behind which a slash begins an expression and does not divide. */
const BEFORE_EXPRESSION =
  /^(?:[([{},;!~&|=<>?:+*%^\n-]|&&|\|\||[<>=!+*%^-]=|printf?|return|exit|in|case|else|do|)$/;
/** Behind these a line goes on. */
const BEFORE_LINE = /^(?:[,{?:]|&&|\|\||do|else)$/;
const TOKEN =
  /\\\n|#[^\n]*|"(?:[^"\\\n]|\\[\s\S])*"|[A-Za-z_]\w*|\d[\w.]*|\+\+|--|&&|\|\||[<>=!+*%^-]=|[ \t\r]+|[\s\S]/gy;
/** A slash in brackets ends it for some, and does not for others. */
const EXPRESSION = /\/(?:[^/\\\n[]|\\[^\n]|\[\^?\]?(?:[^\]\\\n/]|\\[^\n])*\])*\//y;

/**
 * Whether a script of awk only looks at its input and prints: it writes no file, runs nothing, and reads nothing but
 * what it is given. A `>` compares, except in what is printed.
 */
export function isPlainAwk(script: string): boolean {
  let before = "";
  let depth = 0;
  let printing: number | undefined;
  for (let at = 0; at < script.length; ) {
    if (script[at] === "/") {
      // Behind a closing parenthesis it may be either: then nothing that follows may reach out in any reading.
      if (/^(?:\)|\+\+|--|expression)$/.test(before)) return !REACHING_ANYWHERE.test(script.slice(at));
      if (BEFORE_EXPRESSION.test(before)) {
        EXPRESSION.lastIndex = at;
        const found = EXPRESSION.exec(script)?.[0];
        if (found === undefined) return false;
        at += found.length;
        before = "expression";
        continue;
      }
    }
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(script)?.[0] ?? "";
    if (token === "" || token === '"' || token === "\\" || token === "@" || REACHING.test(token))
      return false;
    at += token.length;
    if (/^(?:[ \t\r]|#|\\\n)/.test(token)) continue;
    if (token === "|") return false;
    if (/^[([]$/.test(token)) depth += 1;
    else if (/^[)\]]$/.test(token)) depth -= 1;
    else if (/^printf?$/.test(token)) printing = depth;
    else if (/^[;{}]$/.test(token) || (token === "\n" && !BEFORE_LINE.test(before))) printing = undefined;
    else if (token === ">" && printing !== undefined && depth <= printing) return false;
    if (token !== "\n" || !BEFORE_LINE.test(before)) before = token;
  }
  return true;
}
