import { useEffect, useState } from "react";

const SHOWN_MS = 1_200;

/** What became of the last copy, for a moment after it. */
export type Copied = "copied" | "refused" | undefined;

/** Copies text, and says for a moment whether that went well: browsers give it only to pages that came safely. */
export function useCopied(): { readonly copied: Copied; readonly copy: (text: string) => void } {
  const [copied, setCopied] = useState<Copied>();
  useEffect(() => {
    if (copied === undefined) return;
    const timer = setTimeout(() => setCopied(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (text: string) => {
    if (!window.isSecureContext) return setCopied("refused");
    navigator.clipboard.writeText(text).then(
      () => setCopied("copied"),
      () => setCopied("refused"),
    );
  };
  return { copied, copy };
}
