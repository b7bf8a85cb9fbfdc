const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text with control and bidirectional characters written out, so that it reads as it will be taken. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (one) => `⟨U+${codeOf(one)}⟩`);
}

function codeOf(one: string): string {
  return (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
