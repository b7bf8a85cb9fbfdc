import { classNames } from "./class-names.ts";
import { visible } from "./visible.ts";

/** Text as it is, in a box that scrolls; what cannot be seen is made visible. */
export function Code({ text, className }: { text: string; className?: string }) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={classNames(
        "overflow-auto rounded bg-sunken px-2.5 py-2 text-xs leading-relaxed whitespace-pre-wrap break-words",
        className,
      )}
    >
      {visible(text)}
    </pre>
  );
}

/** A value as JSON. */
export function Json({ value, className }: { value: unknown; className?: string }) {
  return <Code text={JSON.stringify(value, undefined, 2)} {...(className !== undefined && { className })} />;
}
