import type { ButtonHTMLAttributes, ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** How much a button asks to be pressed. */
export type ButtonKind = "plain" | "primary" | "quiet" | "danger";

const KINDS: Readonly<Record<ButtonKind, string>> = {
  plain: "border-line-strong bg-surface text-ink hover:bg-sunken",
  primary: "border-accent bg-accent text-accent-ink hover:brightness-110",
  quiet: "border-transparent bg-transparent text-ink-soft hover:bg-sunken hover:text-ink",
  danger: "border-bad bg-surface text-bad hover:bg-bad-wash",
};

/** A button. */
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
