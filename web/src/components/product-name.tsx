import { useProductName } from '@/lib/platform'

/** The product's name within a text. /config.js sets it before React is here (start.js). */
export function ProductName() {
  return (
    <span data-setting="product" suppressHydrationWarning>
      {useProductName()}
    </span>
  )
}
