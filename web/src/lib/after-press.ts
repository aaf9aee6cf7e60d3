let pressed = false

if (typeof addEventListener === 'function') {
  addEventListener('mousedown', () => (pressed = true), { capture: true })
  addEventListener('mouseup', () => (pressed = false), { capture: true })
}

/**
 * Does at once what may move the page, or, while a press is under way, after it: a button that moves away between
 * press and release is not pressed. A tap is a press too, which the browser makes of it.
 */
export function afterPress(act: () => void): void {
  if (!pressed) act()
  // The click comes right after the release.
  else addEventListener('mouseup', () => setTimeout(act), { once: true, capture: true })
}
