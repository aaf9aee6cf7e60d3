import { EllipsisVertical } from 'lucide-react'
import type { ComponentProps } from 'react'
import { Button } from '@/components/ui/button'

export interface ViewMenuProps {
  compact: boolean
  onChange: (view: 'classic' | 'compact') => void
}

export function ViewButton(props: ComponentProps<'button'>) {
  return (
    <Button
      variant="outline"
      size="icon"
      aria-label="More views"
      title="More views"
      aria-haspopup="menu"
      {...props}
    >
      <EllipsisVertical aria-hidden />
    </Button>
  )
}
