import { type ButtonHTMLAttributes, type ReactNode, useEffect, useState } from "react";
import { classNames } from "./layout.tsx";

export type ButtonKind = "plain" | "primary" | "quiet" | "danger";

const KINDS: Readonly<Record<ButtonKind, string>> = {
  plain: "border-line-strong bg-surface text-ink hover:bg-sunken",
  primary: "border-accent bg-accent text-accent-ink hover:brightness-110",
  quiet: "border-transparent bg-transparent text-ink-soft hover:bg-sunken hover:text-ink",
  danger: "border-bad bg-surface text-bad hover:bg-bad-wash",
};

export function Button({
  kind = "plain",
  className,
  type = "button",
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: ButtonKind; children: ReactNode }) {
  return (
    <button
      type={type}
      className={classNames(
        "inline-flex h-7 shrink-0 cursor-pointer items-center justify-center gap-1.5 rounded border px-2.5 text-sm font-medium whitespace-nowrap motion-safe:transition-colors disabled:cursor-not-allowed disabled:opacity-50",
        KINDS[kind],
        className,
      )}
      {...rest}
    />
  );
}

const SHOWN_MS = 1_200;

/** The result of the last copy, shown briefly. */
type Copied = "copied" | "refused" | undefined;

/** Copies text and reports the result briefly. Browsers allow it in secure contexts only. */
function useCopied(): { readonly copied: Copied; readonly copy: (text: string) => void } {
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

const COPY_TEXTS = { copied: "Copied", refused: "The browser blocked copying" } as const;

/** Copies a text and confirms it. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const { copied, copy } = useCopied();
  return (
    <Button kind="quiet" className="h-6 text-2xs" onClick={() => copy(text())}>
      {copied ? COPY_TEXTS[copied] : label}
    </Button>
  );
}

const HASH_TEXTS = { copied: "copied", refused: "not copied" } as const;

/** A shortened hash; a click copies all of it. */
export function Hash({ value, length = 10 }: { value: string; length?: number }) {
  const { copied, copy } = useCopied();
  return (
    <button
      type="button"
      title={`${value}\nClick to copy`}
      onClick={() => copy(value)}
      className="cursor-copy rounded font-mono text-2xs text-ink-soft hover:text-ink"
    >
      {copied ? HASH_TEXTS[copied] : `${value.slice(0, length)}…`}
    </button>
  );
}

/** Downloads a text as a file. */
export function SaveLink({
  name,
  text,
  title,
  children,
}: {
  name: string;
  text: string;
  title?: string;
  children: ReactNode;
}) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text]));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return (
    <a href={address} download={name} title={title} className="text-sm text-accent hover:underline">
      {children}
    </a>
  );
}
