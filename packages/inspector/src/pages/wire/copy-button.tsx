import { useState } from "react";
import { Button } from "../../design/button.tsx";

/** Copies a text, and says so. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1_200);
  };
  return (
    <Button kind="quiet" className="h-6 text-2xs" onClick={() => void copy()}>
      {copied ? "Copied" : label}
    </Button>
  );
}
