const shared = {
  viewBox: '0 0 160 96',
  width: 160,
  height: 96,
  fill: 'none',
  stroke: 'currentColor',
  strokeWidth: 1.5,
  strokeLinecap: 'round',
  strokeLinejoin: 'round',
  'aria-hidden': true,
  className: 'text-input',
} as const

/** Lists that hold nothing yet: an empty mooring. */
function Mooring() {
  return (
    <svg {...shared}>
      <path d="M96 40h56M96 40v42M110 40v-6h20v6M106 28h28l-3 6h-22z" />
      <path d="M110 30c-12-2-14 6-12 12M98 42c-6 0-8 6-6 12s8 6 9 0-1-10-3-12" />
      <path d="M8 62h70M16 72h62M28 82h50" />
    </svg>
  )
}

/** Pairs: two bollards and a slack rope. */
function Bollards() {
  return (
    <svg {...shared}>
      <path d="M12 48h136M12 48v34M148 48v34" />
      <path d="M34 48v-8h20v8M30 32h28l-4 8H34zM106 48v-8h20v8M102 32h28l-4 8h-20z" />
      <path d="M52 42c4 40 52 40 56 0" />
    </svg>
  )
}

/** Searches that found nothing: an open ledger. */
function Ledger() {
  return (
    <svg {...shared}>
      <path d="M80 26c-12-8-28-8-46-6v54c18-2 34-2 46 6 12-8 28-8 46-6V20c-18-2-34-2-46 6zM80 26v54" />
      <path d="M44 36c8-1 14 0 24 2M44 48c8-1 14 0 24 2M44 60c6-1 8 0 12 1M92 38c10-2 16-3 24-2M92 50c10-2 16-3 24-2" />
    </svg>
  )
}

/** What a role may not open: a closed gate. */
function Gate() {
  return (
    <svg {...shared}>
      <path d="M24 18v64M136 18v64M24 28h112M24 72h112M42 28v44M60 28v44M100 28v44M118 28v44M18 82h124" />
      <path d="M70 50h20v16H70zM74 50v-6a6 6 0 0 1 12 0v6" />
    </svg>
  )
}

/** Offline, or a fault: an unlit lamp. */
function Lamp() {
  return (
    <svg {...shared}>
      <path d="M80 50v32M74 50h12M70 18h20l-4 32H74zM74 18l2-6h8l2 6M22 82h30M64 82h32M108 82h30" />
    </svg>
  )
}

export const drawings = { mooring: Mooring, bollards: Bollards, ledger: Ledger, gate: Gate, lamp: Lamp }
