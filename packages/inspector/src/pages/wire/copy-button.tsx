import { Button } from "../../design/button.tsx";
import { useCopied } from "../../design/use-copied.ts";

const SAYS = { copied: "Copied", refused: "This browser does not let the page copy" } as const;

/** Copies a text, and says so. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const { copied, copy } = useCopied();
  return (
    <Button kind="quiet" className="h-6 text-2xs" onClick={() => copy(text())}>
      {copied ? SAYS[copied] : label}
    </Button>
  );
}
