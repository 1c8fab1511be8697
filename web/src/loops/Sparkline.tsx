/** Output over the last minutes: a shape to glance at, not to read values from. */
export function Sparkline({ values, className }: { values: readonly number[]; className?: string }) {
  const width = 80;
  const height = 18;
  if (!values.some((value) => value > 0)) return <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} className={className} aria-hidden />;
  const most = Math.max(1, ...values);
  const step = width / (values.length - 1);
  // The root keeps a quiet agent visible beside a noisy one.
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 2 - Math.sqrt(value / most) * (height - 4)).toFixed(1)}`);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} className={className} aria-hidden preserveAspectRatio="none">
      <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} fill="currentColor" opacity="0.14" />
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" />
    </svg>
  );
}
