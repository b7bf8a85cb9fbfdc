import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";
import { classNames } from "./class-names.ts";

const LOOK =
  "w-full rounded border border-line-strong bg-surface px-2 text-sm text-ink placeholder:text-ink-faint disabled:opacity-60";

/** A label, what it names, and a word of help. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: ReactNode;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-2xs font-medium text-ink-soft">
        {label}
      </label>
      {children(id)}
      {hint !== undefined && <p className="text-2xs text-ink-faint">{hint}</p>}
    </div>
  );
}

/** A line of text. */
export function TextInput({ className, ...rest }: InputHTMLAttributes<HTMLInputElement>) {
  return <input className={classNames(LOOK, "h-7", className)} {...rest} />;
}

/** One of a few. */
export function Choice({ className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select className={classNames(LOOK, "h-7", className)} {...rest} />;
}

/** Some of a few. */
export function Choices({ className, ...rest }: Omit<SelectHTMLAttributes<HTMLSelectElement>, "multiple">) {
  return <select multiple className={classNames(LOOK, "py-1", className)} {...rest} />;
}

/** Lines of text. */
export function TextArea({
  className,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return <textarea className={classNames(LOOK, "py-1.5", className)} {...rest} />;
}
