// Drawn here: a handful of strokes needs no library, and no font has to have them.

import type { ReactNode } from "react";

function Icon({ children, className, label }: { children: ReactNode; className?: string | undefined; label?: string | undefined }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" className={className} fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden={label ? undefined : true} role={label ? "img" : undefined} aria-label={label}>
      {children}
    </svg>
  );
}

export type IconProps = { className?: string | undefined; label?: string | undefined };
export const Play = (props: IconProps) => <Icon {...props}><path d="M5 3.5v9l7-4.5z" fill="currentColor" /></Icon>;
export const Pause = (props: IconProps) => <Icon {...props}><path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2.2" /></Icon>;
export const Stop = (props: IconProps) => <Icon {...props}><rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" /></Icon>;
export const Message = (props: IconProps) => <Icon {...props}><path d="M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z" /></Icon>;
export const Search = (props: IconProps) => <Icon {...props}><circle cx="7" cy="7" r="4" /><path d="m10 10 3.5 3.5" /></Icon>;
export const Plus = (props: IconProps) => <Icon {...props}><path d="M8 3v10M3 8h10" /></Icon>;
export const Minus = (props: IconProps) => <Icon {...props}><path d="M3 8h10" /></Icon>;
export const Up = (props: IconProps) => <Icon {...props}><path d="M8 13V4M4 7.5 8 3.500l4 4" /></Icon>;
export const Left = (props: IconProps) => <Icon {...props}><path d="M13 8H4M7.500 4 3.500 8l4 4" /></Icon>;
export const Right = (props: IconProps) => <Icon {...props}><path d="M3 8h9M8.500 4l4 4-4 4" /></Icon>;
export const ToStart = (props: IconProps) => <Icon {...props}><path d="M3 3.500v9M13.500 8H6M9 4.500 5.500 8 9 11.500" /></Icon>;
export const ToEnd = (props: IconProps) => <Icon {...props}><path d="M13 3.500v9M2.500 8H10M7 4.500 10.500 8 7 11.500" /></Icon>;
export const Warn = (props: IconProps) => <Icon {...props}><path d="M8 2.500 14.200 13.500H1.800z" /><path d="M8 6.500v3.200M8 11.600v.01" /></Icon>;
export const Dot = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="4.200" fill="currentColor" stroke="none" /></Icon>;
export const Ring = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="4.200" /></Icon>;
export const Half = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="5.500" /><path d="M8 2.500a5.500 5.500 0 0 1 0 11z" fill="currentColor" /></Icon>;
export const Key = (props: IconProps) => <Icon {...props}><circle cx="5" cy="8" r="2.700" /><path d="M7.700 8h6.300v2.500M11.200 8v2" /></Icon>;
export const More = (props: IconProps) => <Icon {...props}><path d="M3.500 8h.01M8 8h.01M12.500 8h.01" strokeWidth="2.200" /></Icon>;
export const Down = (props: IconProps) => <Icon {...props}><path d="M8 3v9M4 8.5 8 12.5l4-4" /></Icon>;
export const Chevron = (props: IconProps) => <Icon {...props}><path d="m6 4 4 4-4 4" /></Icon>;
export const Cross = (props: IconProps) => <Icon {...props}><path d="m4 4 8 8M12 4l-8 8" /></Icon>;
export const Check = (props: IconProps) => <Icon {...props}><path d="m3.5 8.5 3 3 6-7" /></Icon>;
export const Branch = (props: IconProps) => <Icon {...props}><circle cx="5" cy="4" r="1.6" /><circle cx="5" cy="12" r="1.6" /><circle cx="11" cy="6" r="1.6" /><path d="M5 5.6v4.8M11 7.6c0 2-3 2-5 3" /></Icon>;
export const Merged = (props: IconProps) => <Icon {...props}><circle cx="4.500" cy="3.800" r="1.600" /><circle cx="4.500" cy="12.200" r="1.600" /><circle cx="11.500" cy="8" r="1.600" /><path d="M4.500 5.400v5.200M4.500 5.400c0 2 3 2.600 5.400 2.600" /></Icon>;
export const Copy = (props: IconProps) => <Icon {...props}><rect x="5.500" y="5.500" width="8" height="8" rx="1.500" /><path d="M10.500 5.500V4a1.500 1.500 0 0 0-1.500-1.500H4A1.500 1.500 0 0 0 2.500 4v5A1.500 1.500 0 0 0 4 10.500h1.500" /></Icon>;
export const Equal = (props: IconProps) => <Icon {...props}><path d="M4 6.300h8M4 9.700h8" /></Icon>;
export const Undo = (props: IconProps) => <Icon {...props}><path d="M3 3.200v3.600h3.600" /><path d="M3.300 6.600A5.400 5.400 0 1 1 2.800 9.500" /></Icon>;
export const Keyboard = (props: IconProps) => <Icon {...props}><rect x="1.5" y="4" width="13" height="8" rx="1.5" /><path d="M4 6.6h.01M6.6 6.6h.01M9.3 6.6h.01M12 6.6h.01M5 9.4h6" /></Icon>;
export const Tool = (props: IconProps) => <Icon {...props}><path d="M9.5 6.5 4 12M10 3a3 3 0 0 0-1 4 3 3 0 0 0 4-1l-1.8-.2L10.600 4z" /></Icon>;
export const Flag = (props: IconProps) => <Icon {...props}><path d="M4 14V2.500h7.500L10 5.500l1.500 3H4" /></Icon>;
export const Commit = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="2.4" /><path d="M1.500 8h4M10.500 8h4" /></Icon>;
export const Gate = (props: IconProps) => <Icon {...props}><path d="M3 13V5.500L8 3l5 2.500V13M6 13V8h4v5" /></Icon>;
export const Eye = (props: IconProps) => <Icon {...props}><path d="M1.500 8S4 3.800 8 3.800 14.500 8 14.500 8 12 12.200 8 12.200 1.500 8 1.500 8z" /><circle cx="8" cy="8" r="1.800" /></Icon>;
export const List = (props: IconProps) => <Icon {...props}><path d="M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.01M2.500 8h.01M2.500 12h.01" /></Icon>;
export const Robot = (props: IconProps) => <Icon {...props}><rect x="3" y="5.500" width="10" height="7.500" rx="2" /><path d="M8 5.500V3M6 9h.01M10 9h.01" /></Icon>;
export const Gear = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="2.200" /><path d="M8 1.800v2M8 12.200v2M1.800 8h2M12.200 8h2M3.600 3.600 5 5M11 11l1.400 1.400M12.400 3.600 11 5M5 11l-1.400 1.400" /></Icon>;
export const Lock = (props: IconProps) => <Icon {...props}><rect x="3.500" y="7" width="9" height="6.500" rx="1.200" /><path d="M5.500 7V5a2.500 2.500 0 0 1 5 0v2" /></Icon>;
export const Funnel = (props: IconProps) => <Icon {...props}><path d="M2 3.500h12l-4.500 5.200v4l-3 1.300V8.700z" /></Icon>;
export const Trash = (props: IconProps) => <Icon {...props}><path d="M2.500 4.500h11M6 4.500V3h4v1.500M4 4.500l.600 8.500h6.800l.600-8.500M6.700 7v3.500M9.300 7v3.500" /></Icon>;
export const Chart = (props: IconProps) => <Icon {...props}><path d="M2.500 13.500h11M4.500 13V9M8 13V3.500M11.500 13V6.500" strokeWidth="2" /></Icon>;
export const Wave = (props: IconProps) => <Icon {...props}><path d="M2 8h2.500l1.500-4 3 8 1.500-4H14" /></Icon>;
export const Clock = (props: IconProps) => <Icon {...props}><circle cx="8" cy="8" r="5.500" /><path d="M8 5v3.200l2 1.300" /></Icon>;
export const Columns = (props: IconProps) => <Icon {...props}><rect x="2" y="3" width="5" height="10" rx="1" /><rect x="9" y="3" width="5" height="10" rx="1" /></Icon>;
export const Server = (props: IconProps) => <Icon {...props}><rect x="2.500" y="2.500" width="11" height="4.500" rx="1" /><rect x="2.500" y="9" width="11" height="4.500" rx="1" /><path d="M5 4.750h.01M5 11.250h.01" strokeWidth="2.200" /></Icon>;
export const Queue = (props: IconProps) => <Icon {...props}><rect x="2.500" y="2.500" width="11" height="3" rx="1" /><path d="M2.500 8.500h11M2.500 12h7M11.500 10.500v3M10 12h3" /></Icon>;
