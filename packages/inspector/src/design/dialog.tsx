import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useEffect } from "react";

/**
 * A question or a form in front of the page. Not modal to Radix, whose modal dialogs bring a stylesheet of their own,
 * which the page's content security policy refuses; the page behind is made inert here instead.
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
