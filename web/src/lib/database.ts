import type { Database as Generated, Json } from './database.types'
import type { Decimal } from './money'

type Public = Generated['public']

/** Postgres takes exact decimals as text, and money never becomes a floating-point number here. */
type Exact<Row> = { [Column in keyof Row]: number extends Row[Column] ? Row[Column] | Decimal : Row[Column] }

/** Columns of a deposit that its trigger fills in; a member may not name them. */
type FilledIn = 'kind' | 'reference_key'
type Insert<Row> = Exact<Omit<Row, FilledIn> & Partial<Pick<Row, Extract<keyof Row, FilledIn>>>>

/** Arguments with a default may be null; the generator only knows that they may be left out. */
type Arguments<Args> = [Args] extends [never]
  ? never
  : { [Name in keyof Args]: undefined extends Args[Name] ? Args[Name] | null : Args[Name] }

/** What answers jsonb has a shape that the features write down beside the call. */
type Answer<Returns> = [Json] extends [Returns] ? unknown : Returns

/** The generated types, corrected where the generator cannot know better. */
export interface Database extends Omit<Generated, 'public'> {
  public: Omit<Public, 'Tables' | 'Functions'> & {
    Tables: {
      [Name in keyof Public['Tables']]: Omit<Public['Tables'][Name], 'Insert' | 'Update'> & {
        Insert: Insert<Public['Tables'][Name]['Insert']>
        Update: Exact<Public['Tables'][Name]['Update']>
      }
    }
    Functions: {
      [Name in keyof Public['Functions']]: {
        Args: Arguments<Public['Functions'][Name]['Args']>
        Returns: Answer<Public['Functions'][Name]['Returns']>
      }
    }
  }
}
