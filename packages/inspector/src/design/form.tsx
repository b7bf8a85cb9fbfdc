import { Dialog as Radix } from "radix-ui";
import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useEffect,
  useId,
} from "react";
import { classNames } from "./layout.tsx";

const LOOK =
  "w-full rounded border border-line-strong bg-surface px-2 text-sm text-ink placeholder:text-ink-faint disabled:opacity-60";

/** A labelled control with a hint. */
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

export function TextInput({ className, ...rest }: InputHTMLAttributes<HTMLInputElement>) {
  return <input className={classNames(LOOK, "h-7", className)} {...rest} />;
}

export function Choice({ className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select className={classNames(LOOK, "h-7", className)} {...rest} />;
}

/** A select with multiple choices. */
export function Choices({ className, ...rest }: Omit<SelectHTMLAttributes<HTMLSelectElement>, "multiple">) {
  return <select multiple className={classNames(LOOK, "py-1", className)} {...rest} />;
}

export function TextArea({
  className,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return <textarea className={classNames(LOOK, "py-1.5", className)} {...rest} />;
}

/**
 * A dialog. Not modal to Radix: its modal dialogs insert a stylesheet that the page's content security policy blocks.
 * The page behind is made inert here instead.
 */
export function Dialog({
  open,
  onClose,
  title,
  about,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    const page = document.getElementById("root");
    if (!open || !page) return;
    page.inert = true;
    return () => {
      page.inert = false;
    };
  }, [open]);
  return (
    <Radix.Root open={open} modal={false} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-ink/30" aria-hidden="true" onClick={onClose} />
        <Radix.Content
          aria-modal="true"
          className="fixed inset-x-2 top-[10vh] z-50 mx-auto flex max-h-[80vh] max-w-xl flex-col gap-3 overflow-auto rounded-lg border border-line bg-raised p-4 shadow-float"
          onInteractOutside={(event) => event.preventDefault()}
        >
          <div>
            <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
            <Radix.Description className="text-sm text-ink-soft">{about}</Radix.Description>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
