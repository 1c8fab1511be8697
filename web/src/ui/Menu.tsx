import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Check } from "./icons";

export function Menu({ trigger, children, opened = false }: { trigger: ReactNode; children: ReactNode; opened?: boolean }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen={opened}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="end" sideOffset={4} collisionPadding={8} className="card z-50 min-w-44 p-1 shadow-pop">{children}</DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function MenuItem({ onSelect, children, checked, disabled = false }: { onSelect: () => void; children: ReactNode; checked?: boolean; disabled?: boolean }) {
  const look = "flex cursor-pointer items-center gap-2 rounded px-2 py-1.5 text-sm outline-none data-[disabled]:opacity-45 data-[highlighted]:bg-accent-soft";
  if (checked === undefined) return <DropdownMenu.Item disabled={disabled} onSelect={onSelect} className={look}>{children}</DropdownMenu.Item>;
  return (
    <DropdownMenu.CheckboxItem checked={checked} onSelect={onSelect} className={look}>
      <span className="w-3.5" aria-hidden>{checked ? <Check className="size-3.5" /> : null}</span>
      {children}
    </DropdownMenu.CheckboxItem>
  );
}
