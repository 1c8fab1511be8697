import clsx from "clsx";
import { Dialog as RadixDialog } from "radix-ui";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Cross } from "./icons";
import { IconButton } from "./primitives";

/** Who opens a dialog wants to write, or to say yes; not to close it. */
function intoFields(event: Event) {
  const content = event.currentTarget as HTMLElement;
  const first = content.querySelector<HTMLElement>("textarea, input, select") ?? content.querySelector<HTMLElement>("footer button:last-child");
  if (!first) return;
  event.preventDefault();
  first.focus();
}

/** A dialog without Radix' own overlay: that one adds a style element, which the page's policy refuses. */
export function Dialog({ open, onClose, title, children, footer, wide = false }: { open: boolean; onClose: () => void; title: string; children: ReactNode; footer?: ReactNode; wide?: boolean }) {
  const { t } = useTranslation();
  return (
    <RadixDialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <RadixDialog.Portal>
        <div className="fixed inset-0 z-40 bg-black/40" aria-hidden />
        <RadixDialog.Content aria-describedby={undefined} onOpenAutoFocus={intoFields} className={clsx("card fixed top-1/2 left-1/2 z-50 flex max-h-[88vh] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col shadow-pop", wide ? "max-w-2xl" : "max-w-md")}>
          <header className="flex items-center justify-between gap-2 border-b border-line px-4 py-2.5">
            <RadixDialog.Title>{title}</RadixDialog.Title>
            <RadixDialog.Close asChild>
              <IconButton label={t("action.close")}><Cross /></IconButton>
            </RadixDialog.Close>
          </header>
          <div className="overflow-y-auto px-4 py-3">{children}</div>
          {footer ? <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">{footer}</footer> : null}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}
