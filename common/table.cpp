// The printed tables, and how their numbers are written.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/bench.hpp"
#include "common/error.hpp"

Cell::Cell(double x, int digits) : text(number(x, digits)), data(x) {}

Table::Table(std::vector<std::string> columns, std::string title)
    : columns_(std::move(columns)), title_(std::move(title)) {}

void Table::add(std::vector<Cell> cells) {
    if (cells.size() != columns_.size()) {
        fail("a row of %zu cells in a table of %zu columns", cells.size(), columns_.size());
    }
    rows_.push_back(std::move(cells));
}

namespace {

// Columns on the screen: bytes that go on a UTF-8 character take none.
size_t width(const std::string& text) {
    return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(const std::string& cell) {  // also "85 %", "-" and "[12.3]"
    return cell.find_first_not_of("0123456789.,+-e%[] ") == std::string::npos || cell == "inf" ||
           cell == "nan";
}

}  // namespace

void Table::print() const {
    std::vector<size_t> widths;
    std::vector<bool> numeric;
    for (size_t column = 0; column < columns_.size(); ++column) {
        widths.push_back(width(columns_[column]));
        numeric.push_back(!rows_.empty());
        for (const auto& row : rows_) {
            widths.back() = std::max(widths.back(), width(row[column].text));
            if (!is_number(row[column].text)) numeric.back() = false;
        }
    }
    const auto print_row = [&](const std::vector<Cell>& cells) {
        std::string line;
        for (size_t column = 0; column < cells.size(); ++column) {
            const std::string& text = cells[column].text;
            const std::string pad(widths[column] - width(text), ' ');
            if (column > 0) line += "  ";
            line += numeric[column] ? pad + text : text + pad;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::printf("%s\n", line.c_str());
    };
    if (!title_.empty()) std::printf("%s\n", title_.c_str());
    print_row({columns_.begin(), columns_.end()});
    for (const auto& row : rows_) print_row(row);
}

Json Table::json() const {
    Json out{Json::Array{}};
    for (const auto& row : rows_) {
        Json object{Json::Object{}};
        for (size_t column = 0; column < columns_.size(); ++column)
            object.set(columns_[column], row[column].data);
        out.push(std::move(object));
    }
    return out;
}

namespace {

struct Figure {
    const char *column, *key;
    double BenchRow::*value;
};
constexpr Figure figures[] = {{"CPU 1 thread", "cpu_1_thread", &BenchRow::cpu_1_thread},
                              {"CPU all threads", "cpu_all_threads", &BenchRow::cpu_all_threads},
                              {"GPU kernel", "gpu_kernel", &BenchRow::gpu_kernel},
                              {"GPU with copies", "gpu_with_copies", &BenchRow::gpu_with_copies},
                              {"% of bound", "share_of_bound", &BenchRow::share_of_bound},
                              {"GPU / CPU", "gpu_over_cpu", &BenchRow::gpu_over_cpu}};

}  // namespace

std::string numbered(int variant, const std::string& name) {
    return std::to_string(variant + 1) + " " + name;
}

void print_rows(const std::vector<BenchRow>& rows) {
    std::vector<std::string> columns{"variant", "size", "unit"};
    for (const Figure& figure : figures) columns.push_back(figure.column);
    Table table(columns);
    for (const BenchRow& row : rows) {
        std::vector<Cell> cells{row.variant, row.size, row.unit};
        for (const Figure& figure : figures) {
            const double x = row.*figure.value;
            cells.push_back(std::isnan(x)                               ? "-"
                            : figure.value == &BenchRow::share_of_bound ? percent(x)
                                                                        : number(x));
        }
        table.add(cells);
    }
    table.print();
}

Json rows_json(const char* lesson, const std::string& device, const std::vector<BenchRow>& rows) {
    Json list{Json::Array{}};
    for (const BenchRow& row : rows) {
        Json object{Json::Object{{"variant", row.variant}, {"size", row.size}, {"unit", row.unit}}};
        for (const Figure& figure : figures) object.set(figure.key, row.*figure.value);
        list.push(std::move(object));
    }
    return Json::Object{{"lesson", lesson}, {"device", device}, {"rows", list}};
}

std::string number(double x, int digits) {
    if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    if (x == 0) return "0";
    // Rounded to the wanted digits first: 999.6 has four digits before the point.
    const std::string rounded = format_text("%.*e", digits - 1, x);
    const int exponent = std::atoi(rounded.c_str() + rounded.find('e') + 1);
    if (exponent < -4 || exponent > 14) return rounded;
    std::string text = format_text("%.*f", std::max(0, digits - 1 - exponent), std::stod(rounded));
    const size_t first = x < 0 ? 1 : 0;
    for (size_t end = std::min(text.find('.'), text.size()); end > first + 3; end -= 3)
        text.insert(end - 3, 1, ',');
    return text;
}

std::string percent(double share) {
    if (!std::isfinite(share)) return "-";
    return format_text(std::abs(share) < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
}

std::string bytes_text(double n_bytes) {
    static const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    // 999.5 would be written "1,000".
    for (; unit < 4 && std::abs(n_bytes) >= (unit == 0 ? 1000 : 999.5); ++unit) n_bytes /= 1000;
    return (unit == 0 ? format_text("%.0f", n_bytes) : number(n_bytes)) + " " + units[unit];
}
