import { Money, zero } from './money';
import type { Product } from './product';

/**
 * A line of the cart.
 *
 * The price is that of the moment at which it was added.
 */
export interface Line {
  product: Product;
  count: number;
  price: Money;
}

type Listener = (lines: readonly Line[]) => void;

export class Cart {
  private lines: Line[] = [];
  private listeners = new Set<Listener>();

  /** Adds a product, or more of it. */
  add(product: Product, count = 1): void {
    const line = this.lines.find((l) => l.product.id === product.id);
    if (line) {
      line.count += count;
    } else {
      this.lines.push({
        product,
        count,
        price: product.price,
      });
    }
    this.changed();
  }

  /** Removes a product, whatever its count. */
  remove(id: string): boolean {
    const before = this.lines.length;
    this.lines = this.lines.filter((l) => l.product.id !== id);
    if (this.lines.length === before) {
      return false;
    }
    this.changed();
    return true;
  }

  total(): Money {
    return this.lines.reduce(
      (sum, line) => sum.plus(line.price.times(line.count)),
      zero,
    );
  }

  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  private changed(): void {
    for (const listener of this.listeners) {
      try {
        listener(this.lines);
      } catch (err) {
        console.error('a listener failed', err);
      }
    }
  }
}

export function describe(line: Line): string {
  switch (line.count) {
    case 0:
      return 'nothing';
    case 1:
      return line.product.name;
    default:
      return `${line.count} × ${line.product.name}`;
  }
}
