// The main of every test program, and what tests/run.py reads: a line when a test case starts, a line when it ends.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/skip.hpp"

namespace {

std::string skip_reason;  // of the case that runs

struct CaseLines : doctest::IReporter {
    explicit CaseLines(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& data) override {
        skip_reason.clear();
        std::printf("[start] %s\n", data.m_name);
        std::fflush(stdout);
    }
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        const char* verdict = !stats.testCaseSuccess ? "failed" : skip_reason.empty() ? "passed" : "skipped";
        std::printf("[%s] %.2f s %s\n", verdict, stats.seconds, skip_reason.c_str());
        std::fflush(stdout);
    }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("case lines", 1, CaseLines);

}  // namespace

void note_skip(const std::string& reason) { skip_reason = reason; }
