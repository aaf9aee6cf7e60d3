import * as Primitive from 'radix-ui/tooltip'
import type { ReactNode } from 'react'

interface TooltipProps {
  /** Null where there is nothing to say for now. */
  content: ReactNode
  /** The control the words belong to; it must take focus. */
  children: ReactNode
}

export function Tooltip({ content, children }: TooltipProps) {
  return (
    <Primitive.Provider delayDuration={300}>
      <Primitive.Root>
        <Primitive.Trigger asChild>{children}</Primitive.Trigger>
        {content === null ? null : (
          <Primitive.Portal>
            <Primitive.Content
              sideOffset={6}
              collisionPadding={16}
              className="z-60 max-w-72 animate-popover-in rounded-badge border bg-popover px-2.5 py-1.5 text-caption shadow-popover"
            >
              {content}
            </Primitive.Content>
          </Primitive.Portal>
        )}
      </Primitive.Root>
    </Primitive.Provider>
  )
}
